"""The trace span of a journal group, which is a group of journal records that are written and synced together."""

import attrs

from ..tracing.spans import Span, SpanKind
from ..tracing.traceparent import SpanIds

JOURNAL_GROUP = "bookie.journal_group"
"""The name of the span of a journal group."""


@attrs.define(eq=False)
class TracedGroup:
    """A journal group (records that are written and synced together) in which at least one add is traced.

    :ivar began, ended: seconds since the epoch at which the write of the group began, and at which its sync ended.
    :ivar ids: the ids of the group's span; None until the span is made.
    """

    began: float
    ended: float
    n_entries: int
    ids: SpanIds | None = None

    def span(self, parent: SpanIds, span_id: int) -> Span:
        """Make the span of the group.

        :param parent: the ids of the span of the first traced add in the group.
        """
        self.ids = SpanIds(parent.trace_id, span_id)
        attributes = {"bookkeeper.entries": self.n_entries}
        return Span(self.ids, parent, JOURNAL_GROUP, SpanKind.INTERNAL, self.began, self.ended, attributes)
