"""Keeps the records of traced operations and requests, and makes the spans of many records at once.

To make the spans one at a time would take several times as long, because the code that makes them would no longer be
in the processor's caches.
"""

from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger

from .interfaces import ITracer
from .spans import Begun, IRecord, Span

MOST_RECORDS = 256
"""Number of kept records of ended operations at which their spans are made at once, before the next timer call.

To make the spans of as many records takes about 2 ms.
"""

INTERVAL = 0.5
"""Maximum number of seconds for which a record is kept before its spans are made."""

BURST = 0.1
"""Size of a burst of traces, in seconds: after a pause, as many as are permitted in 0.1 s may begin at once."""


class TraceRecords:
    """The records of traced operations and requests of one client or bookie, until their spans are reported.

    :param limit: maximum number of traces or traced requests per second; 0 for no limit.
    :ivar tracer: the tracer that decides what is traced, and to which the spans are reported.
    """

    _log = Logger()

    def __init__(self, clock: IReactorTime, tracer: ITracer, limit: int = 0) -> None:
        self.tracer = tracer
        self.seconds = clock.seconds
        self._clock = clock
        self._records: list[IRecord] = []
        self._span_ids = tracer.span_ids
        self._timer: IDelayedCall | None = None
        self._spacing = 1 / limit if limit else 0.0
        self._next = 0.0  # the time before which no further trace is permitted

    def admits(self) -> bool:
        """Test whether the limit per second permits one more trace now; if so, count this trace."""
        if not self._spacing:
            return True
        now = self.seconds()
        if now < self._next:
            return False
        self._next = max(self._next, now - BURST) + self._spacing
        return True

    def begin(self, name: str) -> Begun | None:
        """Decide whether an operation is traced; if so, make the ids of its span.

        :param name: name of the operation.
        :returns: the ids of the new span and of its parent; None if the operation is not traced, the usual case.
        """
        tracer = self.tracer
        is_turn = tracer.turn()
        return self.decide(name, is_turn) if is_turn or tracer.caller() else None

    def decide(self, name: str, is_turn: bool) -> Begun | None:
        """Decide whether an operation is traced whose turn it is, or whose caller may have a span.

        :param name: name of the operation.
        :param is_turn: the result of :attr:`.ITracer.turn` for this operation.
        :returns: as :meth:`begin`.
        """
        return self.tracer.begin(name, is_turn and self.admits())

    def add(self, record: IRecord) -> None:
        """Keep the ``record`` of an operation or request that has ended, until its spans are made."""
        records = self._records
        records.append(record)
        if len(records) >= MOST_RECORDS:
            self.flush()
        elif self._timer is None:
            self._timer = self._clock.callLater(INTERVAL, self._on_time)

    def _on_time(self) -> None:
        self._timer = None
        self.flush()

    def flush(self) -> None:
        """Make the spans of all records now, and report the spans to the tracer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        records, self._records = self._records, []
        spans, failed = list[Span](), False
        for record in records:
            try:
                spans += record.spans(self._span_ids)
            except Exception:
                if not failed:
                    self._log.failure("some spans of {count} records could not be made", count=len(records))
                failed = True
        if spans:
            self.tracer.report(spans)
