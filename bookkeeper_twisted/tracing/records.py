"""Keeps records of what was traced, and makes the spans of many of them at once.

Spans are made by code that runs seldom.  One at a time they would cost several times as much, because the processor
has forgotten that code each time.
"""

from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger

from .interfaces import ITracer
from .spans import Begun, IRecord, Span

MOST_RECORDS = 256
"""The records of which spans are made without waiting for the timer: about 2 ms of work."""

INTERVAL = 0.5
"""The most seconds for which a record is kept."""


class TraceRecords:
    """The records of a client or a bookie.

    :param tracer: gets the spans.
    :ivar tracer: the same.
    """

    _log = Logger()

    def __init__(self, clock: IReactorTime, tracer: ITracer) -> None:
        self.tracer = tracer
        self.seconds = clock.seconds
        self._clock = clock
        self._records: list[IRecord] = []
        self._span_ids = tracer.span_ids
        self._timer: IDelayedCall | None = None

    def begin(self, name: str) -> Begun | None:
        """Decide whether an operation is traced, and make its ids if it is.

        :param name: name of the operation.
        :returns: None if the operation is not traced, which is the usual case.
        """
        tracer = self.tracer
        is_turn = tracer.turn()
        return tracer.begin(name, is_turn) if is_turn or tracer.caller() else None

    def add(self, record: IRecord) -> None:
        """Keep the ``record`` of an ended operation or request until its spans are made."""
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
        """Make the spans of all records, and report them."""
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
