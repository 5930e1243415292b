"""One ``transport.write`` for each connection and batch."""

from typing import Protocol


class Flushable(Protocol):
    """A connection with replies to write."""

    def flush(self) -> None: ...


class Outbox:
    """The connections of a bookie that have replies waiting for the end of a batch.

    A connection enrols with the first reply it queues; whoever ends a batch (a journal group, a chunk
    of requests, a read from disk) calls :meth:`flush`.
    """

    __slots__ = ("_enrolled",)

    def __init__(self) -> None:
        self._enrolled: list[Flushable] = []

    def enrol(self, connection: Flushable) -> None:
        self._enrolled.append(connection)

    def flush(self) -> None:
        """Lets every enrolled connection write what it has, in the order of enrolment."""
        while self._enrolled:
            enrolled, self._enrolled = self._enrolled, []
            for connection in enrolled:
                connection.flush()
