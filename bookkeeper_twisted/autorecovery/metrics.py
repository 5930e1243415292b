"""The metrics of the checker, the replicator and the worker.

The metrics that Apache's worker also has are exported under the names used there.
"""

from collections.abc import Callable

from ..instruments import Counter, Instruments
from ..ledger.findings import CheckReport, LossKind
from .unanswering import UnansweringBookies

_WORKER = "replication_worker_"
_CHECKER = "ledger_checker_"


class CheckerMetrics:
    """The metrics of the checks of ledgers in one process.

    :ivar requests: number of requests to bookies.
    :ivar retries: requests that were sent again after an overload, a time-out or a lost connection.
    :ivar entries: number of entries that were read.
    :ivar n_bytes: number of bytes of the entries that were read.
    """

    def __init__(self, instruments: Instruments) -> None:
        self.requests = instruments.counter(_CHECKER + "requests")
        self.retries = instruments.counter(_CHECKER + "retries")
        self.entries = instruments.counter(_CHECKER + "entries_read")
        self.n_bytes = instruments.counter(_CHECKER + "bytes_read")
        self._ledgers = instruments.counter(_CHECKER + "ledgers")
        self._inconclusive = instruments.counter(_CHECKER + "inconclusive_replicas")
        self._lost = {kind: instruments.counter(f"{_CHECKER}{kind.value}_replicas") for kind in LossKind}
        self._instruments = instruments

    def watch(self, unanswering: UnansweringBookies) -> None:
        """Export how many bookies do not answer, and how many requests to them were not sent.

        :param unanswering: the bookies that did not answer, as the checks of this process have recorded them.
        """
        self._instruments.gauge(_CHECKER + "unanswering_bookies", lambda: len(unanswering.bookies))
        self._instruments.gauge(_CHECKER + "requests_left_out", lambda: unanswering.left_out, "counter")

    def checked(self, report: CheckReport) -> None:
        """Count a checked ledger and, from the ``report`` of its check, the lost, damaged and inconclusive replicas."""
        self._ledgers.value += 1
        self._inconclusive.value += sum(len(one.inconclusive) for one in report.fragments)
        for loss in report.losses():
            self._lost[loss.kind].value += 1


class ReplicationMetrics:
    """The metrics of the replicator's reads and writes in one process.

    :ivar read_latency: milliseconds until a bookie answered a read.
    :ivar write_latency: milliseconds until a bookie acknowledged a write.
    :ivar entry_read_latency, entry_write_latency: the same latencies of those reads and writes that had one entry; they
        are comparable with the latencies of clients.
    :ivar read_bytes: number of bytes that each read returned.
    :ivar written_bytes: number of bytes in each write to one bookie.
    :ivar unreadable: number of entries that no bookie could return.
    """

    def __init__(self, instruments: Instruments) -> None:
        self.entries_read = instruments.counter(_WORKER + "NUM_ENTRIES_READ")
        self.read_bytes = instruments.summary(_WORKER + "NUM_BYTES_READ")
        self.read_latency = instruments.latency(_WORKER + "READ_DATA_LATENCY")
        self.entries_written = instruments.counter(_WORKER + "NUM_ENTRIES_WRITTEN")
        self.written_bytes = instruments.summary(_WORKER + "NUM_BYTES_WRITTEN")
        self.write_latency = instruments.latency(_WORKER + "WRITE_DATA_LATENCY")
        self.entry_read_latency = instruments.summary(_WORKER + "entry_read_latency")
        self.entry_write_latency = instruments.summary(_WORKER + "entry_write_latency")
        self.unreadable = instruments.counter(_WORKER + "NUM_ENTRIES_UNABLE_TO_READ_FOR_REPLICATION")


_APACHE_NAMES = {
    "EntriesLostError": "BKReadException", "ReadError": "BKReadException",
    "NotEnoughBookiesError": "BKNotEnoughBookiesException",
    "BookieHandleNotAvailableError": "BKBookieHandleNotAvailableException",
    "LedgerRecoveryError": "BKLedgerRecoveryException", "WriteError": "BKWriteException",
    "RequestTimeoutError": "BKTimeoutException",
}  # fmt: skip


class WorkerMetrics:
    """The metrics of one replication worker.

    :ivar rereplicate: milliseconds of each attempt to repair a ledger.
    :ivar repaired: number of attempts that made at least one fragment complete.
    :ivar moved: number of attempts that moved replicas of a complete ledger to satisfy the placement policy.
    :ivar deferred: number of attempts that failed; after each, the worker waits before it tries again.
    """

    def __init__(self, instruments: Instruments) -> None:
        self.rereplicate = instruments.summary(_WORKER + "rereplicate")
        self.repaired = instruments.counter(_WORKER + "NUM_FULL_OR_PARTIAL_LEDGERS_REPLICATED")
        self.moved = instruments.counter(_WORKER + "NUM_NOT_ADHERING_PLACEMENT_LEDGERS_REPLICATED")
        self.deferred = instruments.counter(_WORKER + "NUM_DEFER_LEDGER_LOCK_RELEASE_OF_FAILED_LEDGER")
        self._instruments = instruments
        self._exceptions: dict[str, Counter] = {}

    def failed(self, error: Exception) -> None:
        """Count a failed attempt to repair a ledger, in a metric that is named after the class of its ``error``.

        If Apache has an exception for this error, the metric has the name of Apache's exception.
        """
        name = type(error).__name__
        name = _APACHE_NAMES.get(name, name)
        if name not in self._exceptions:
            self._exceptions[name] = self._instruments.counter(f"{_WORKER}exceptions_{name}")
        self._exceptions[name].value += 1

    def watch(self, state: str, ledgers: Callable[[], float]) -> None:
        """Export a metric: how many of the ledgers that this worker has locked are in one state.

        :param state: the state, which becomes the label ``state`` of the metric.
        :param ledgers: a function that returns the present number of ledgers in this state.
        """
        self._instruments.gauge(_WORKER + "ledgers", ledgers, state=state)
