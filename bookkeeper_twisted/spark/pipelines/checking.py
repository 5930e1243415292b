"""Checks the entries of one replica in a Spark task, by blocking reads."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from ...blocking_reads import Address, SocketPool, requests
from ...blocking_reads.pool import OutstandingRequest
from ...codec.digest import Digester
from ...entries.entry_run import EntryRun
from ...errors import BadRequestError, BookieIOError, BookKeeperError, DataUnknownError
from ...ledger.batch_support import UNANSWERED
from ...ledger.read_answers import requested_batch
from ...ledger.replica_scan import Answer, Finding, ReplicaBatchRead, ReplicaRead, ReplicaScan
from ...ledger.schedule import Schedule

BATCH_BYTES, BATCH_ENTRIES = 2 << 20, 1 << 20
"""Maximum number of bytes, and of entries, of one batch read."""

_WIRE = 2
"""The version of the protocol for reads."""

Spend = Callable[[int, int], None]
"""A function that is called with the numbers of entries and bytes read; it blocks until the speed limit permits more.
"""


class PositionCheck:
    """Checks the entries of a ledger that the bookie at one position of the ensemble should have.

    :param batch_bytes: maximum number of bytes of one batch read; with a speed limit, as many as the task may read in
        0.1 seconds.
    :param batch_entries: maximum number of entries of one batch read; with a speed limit, as many as the task may read
        in 0.1 seconds.
    """

    def __init__(
        self, pool: SocketPool, address: Address, ledger_id: int, schedule: Schedule, position: int,
        digester: Digester, spend: Spend, batch_bytes: int = BATCH_BYTES, batch_entries: int = BATCH_ENTRIES,
    ) -> None:  # fmt: skip
        self._pool = pool
        self._address = address
        self._ledger_id = ledger_id
        self._schedule = schedule
        self._position = position
        self._digester = digester
        self._spend = spend
        self._batch_bytes = batch_bytes
        self._batch_entries = batch_entries

    def findings(self, first: int, last: int) -> list[Finding]:
        """Check those entries from ``first`` to ``last`` (inclusive) that the bookie should have.

        :returns: findings: ranges of entries in the same state, such as ok, missing, damaged or unreachable.
        """
        scan = ReplicaScan(self._ledger_id, self._schedule, self._position, self._digester)
        reads = scan.whole(first, last)
        try:
            read = next(reads)
            while True:
                read = reads.send(self._answer(read))
        except StopIteration:
            return scan.findings

    def _answer(self, read: ReplicaRead) -> Answer:
        try:
            if isinstance(read, ReplicaBatchRead):
                run = self._batch(read.first, min(read.count, self._batch_entries))
                self._spend(run.count, run.size)
                return run
            answers = self._singles(read.entry_ids)
            answers |= self._lost(answers)
        except BookKeeperError as error:
            return error
        n_bytes = sum(len(answer) for answer in answers.values() if isinstance(answer, bytes))
        self._spend(len(answers), n_bytes)
        return answers

    def _batch(self, first: int, count: int) -> EntryRun:
        """Read entries by a batch read; find out whether the bookie supports batch reads.

        An old bookie may not answer a batch read.  So if no reply comes, read one entry, to test whether the bookie
        answers at all; then try the batch read once more.

        :raises BadRequestError: the bookie does not support batch reads: it refused one, or it answered only the reads
            of one entry.
        """
        support, bookie_id = self._pool.batch_support, self._address.bookie_id
        while support.is_expected(bookie_id):
            asked = OutstandingRequest(
                self._pool, self._address, _WIRE,
                lambda to: requests.send_batch_read(to, self._ledger_id, first, count, self._batch_bytes),
                lambda source: requests.receive_batch(source, self._ledger_id, first),
            )  # fmt: skip
            try:
                run = requested_batch(asked.reply(), self._ledger_id, first, count)
            except BadRequestError:
                support.refused(bookie_id)
            except UNANSWERED:
                self._singles([first])
                support.unanswered(bookie_id)
            else:
                support.gave_one(bookie_id)
                return run
        raise BadRequestError(self._ledger_id, first)

    def _lost(self, answers: Mapping[int, bytes | Exception]) -> dict[int, bytes | Exception]:
        """Read the entries with an I/O error in ``answers`` again over V3, to find out which the bookie has lost.

        Protocol V2 has no status for a lost entry (for example, if its entry log is missing), so the bookie answers
        with an I/O error.  V3 has such a status.

        :returns: by entry id, the V3 errors of lost entries.
        """
        failed = [entry_id for entry_id, answer in answers.items() if isinstance(answer, BookieIOError)]
        if not failed:
            return {}
        with suppress(BookKeeperError):
            exact = self._singles(failed, 3)
            return {entry_id: answer for entry_id, answer in exact.items() if isinstance(answer, DataUnknownError)}
        return {}

    def _singles(self, wanted: Sequence[int], wire: int = _WIRE) -> dict[int, bytes | Exception]:
        asked = OutstandingRequest(
            self._pool, self._address, wire, lambda to: requests.send_reads(to, self._ledger_id, wanted),
            lambda source: requests.receive_entries(source, self._ledger_id, wanted),
        )  # fmt: skip
        return asked.reply()
