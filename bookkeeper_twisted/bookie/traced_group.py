"""The record of a journal group in which adds are traced."""

import attrs

from ..tracing.spans import Span, SpanKind
from ..tracing.traceparent import SpanIds

JOURNAL_GROUP = "bookie.journal_group"
"""The name of the span."""


@attrs.define(eq=False)
class TracedGroup:
    """A journal group with traced adds.

    :ivar began, ended: the seconds since the epoch at which it was taken from the queue, and complete.
    :ivar ids: the ids of its span; None until that is made.
    """

    began: float
    ended: float
    n_entries: int
    ids: SpanIds | None = None

    def span(self, parent: SpanIds, span_id: int) -> Span:
        """Make the span.

        :param parent: the ids of the span of the first traced add in the group.
        """
        self.ids = SpanIds(parent.trace_id, span_id)
        attributes = {"bookkeeper.entries": self.n_entries}
        return Span(self.ids, parent, JOURNAL_GROUP, SpanKind.INTERNAL, self.began, self.ended, attributes)
