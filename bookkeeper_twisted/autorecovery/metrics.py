"""What checker, copier and replication worker count.  Where Apache's worker counts the same, the name is the same."""

from ..instruments import Instruments
from ..ledger.findings import CheckReport, LossKind

_WORKER = "replication_worker_"
_CHECKER = "ledger_checker_"


class CheckerMetrics:
    """The checks of one process.

    :ivar requests: to bookies.
    :ivar retries: requests that were sent again after an overload, a time-out or a lost connection.
    :ivar entries: that were read; ``n_bytes``: of them.
    """

    def __init__(self, instruments: Instruments) -> None:
        self.requests = instruments.counter(_CHECKER + "requests")
        self.retries = instruments.counter(_CHECKER + "retries")
        self.entries = instruments.counter(_CHECKER + "entries_read")
        self.n_bytes = instruments.counter(_CHECKER + "bytes_read")
        self._ledgers = instruments.counter(_CHECKER + "ledgers")
        self._inconclusive = instruments.counter(_CHECKER + "inconclusive_replicas")
        self._lost = {kind: instruments.counter(f"{_CHECKER}{kind.value}_replicas") for kind in LossKind}

    def checked(self, report: CheckReport) -> None:
        """A ledger was checked."""
        self._ledgers.value += 1
        self._inconclusive.value += sum(len(one.inconclusive) for one in report.fragments)
        for loss in report.losses():
            self._lost[loss.kind].value += 1


class CopierMetrics:
    """The copies of one process.

    :ivar read_latency: milliseconds until a bookie gave entries, by how many there were; ``write_latency``: until one
        has acknowledged them.
    :ivar read_bytes: of each read; ``written_bytes``: of each write to one bookie.
    :ivar unreadable: entries that no bookie gave.
    """

    def __init__(self, instruments: Instruments) -> None:
        self.entries_read = instruments.counter(_WORKER + "NUM_ENTRIES_READ")
        self.read_bytes = instruments.summary(_WORKER + "NUM_BYTES_READ")
        self.read_latency = instruments.summary(_WORKER + "READ_DATA_LATENCY")
        self.entries_written = instruments.counter(_WORKER + "NUM_ENTRIES_WRITTEN")
        self.written_bytes = instruments.summary(_WORKER + "NUM_BYTES_WRITTEN")
        self.write_latency = instruments.summary(_WORKER + "WRITE_DATA_LATENCY")
        self.unreadable = instruments.counter(_WORKER + "NUM_ENTRIES_UNABLE_TO_READ_FOR_REPLICATION")
