"""The times of a group of journal records (written together) that contains traced adds."""

import attrs

from ..tracing.spans import Span, SpanKind
from ..tracing.traceparent import SpanIds

JOURNAL_GROUP = "bookie.journal_group"
"""The name of the span of a group."""


@attrs.define(eq=False)
class TracedGroup:
    """A group of journal records (written together) that contains traced adds.

    :ivar began, ended: when the records were removed from the queue, and when they were written and synced; in seconds
        since the epoch.
    :ivar ids: the ids of the span of this group; None until the span is made.
    """

    began: float
    ended: float
    n_entries: int
    ids: SpanIds | None = None

    def span(self, parent: SpanIds, span_id: int) -> Span:
        """Make the span of the group, as a child of the span of its first traced add.


        :param parent: the ids of the parent span.
        """
        self.ids = SpanIds(parent.trace_id, span_id)
        attributes = {"bookkeeper.entries": self.n_entries}
        return Span(self.ids, parent, JOURNAL_GROUP, SpanKind.INTERNAL, self.began, self.ended, attributes)
