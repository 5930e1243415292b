"""Reading entries from their replicas, without I/O: what an answer is worth, what is asked next, which error is raised.

An entry counts if its ids and its digest are right, whichever replica gave it (S18).  A batch read asks one bookie for
consecutive entries, and what is right before a damaged entry is kept.  Single reads (:class:`SingleReads`) ask one
replica of each entry, then the next replica for those that did not come.  An entry is missing only if every replica
answered so (:func:`most_telling`).

The client, whose reads do not wait for a slow bookie, tasks with plain sockets, and the repair of replicas send the
requests, each in its way, and hand the answers to this module.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile

from ..codec.digest import Digester
from ..codec.runs import ReadReply
from ..entries.entry_run import EntryRun
from ..errors import (
    ERROR_OF_STATUS,
    BookieHandleNotAvailableError,
    DigestMatchError,
    NoSuchEntryError,
    NoSuchLedgerError,
    Status,
    UnexpectedConditionError,
)
from .entry_batch import verified_prefix

FIRST_GUESS = 4 << 10
"""Bytes that an entry is taken to have before one was read."""

FIRST_ENTRIES = 32
"""Most entries that are asked for then: each may have megabytes."""


class UsualSize:
    """The bytes that an entry is expected to have: as those that came last.

    :ivar n_bytes: > 0.
    """

    __slots__ = ("n_bytes", "_is_known")

    def __init__(self, known: int = 0) -> None:
        """:param known: bytes of an entry on average, 0 if nothing is known yet."""
        self.n_bytes = known or FIRST_GUESS
        self._is_known = bool(known)

    def entries_in(self, n_bytes: int, most: int) -> int:
        """Return the number of entries to ask for.

        :param n_bytes: that may come.
        :param most: entries; at least one is asked for.
        """
        return max(min(n_bytes // self.n_bytes, most if self._is_known else min(most, FIRST_ENTRIES)), 1)

    def learn(self, entries: int, n_bytes: int) -> None:
        """Take over the size of entries that came.

        :param entries: their number; 0 changes nothing.
        :param n_bytes: of all of them.
        """
        if entries:
            self.n_bytes = max(n_bytes // entries, 1)
            self._is_known = True


def most_telling(errors: Iterable[Exception]) -> Exception:
    """Choose the error to raise where every replica failed.

    An entry is called missing only if every bookie answered so.

    :param errors: one of each bookie, at least one.
    :returns: the first that is neither "missing" nor "no connection"; else one of a bookie that could not be asked;
        else the last.
    """
    errors = list(errors)
    for error in errors:
        if not isinstance(error, NoSuchEntryError | NoSuchLedgerError | BookieHandleNotAvailableError):
            return error
    for error in errors:
        if isinstance(error, BookieHandleNotAvailableError):
            return error
    return errors[-1]


def verified_batch(run: EntryRun | None, ledger_id: int, first: int, count: int, digester: Digester) -> EntryRun:
    """Return the entries of the reply to a batch read before the first that is not what was asked for (S18).

    :param run: as it came.
    :param count: at most so many.
    :raises DigestMatchError: there is none.
    :raises UnexpectedConditionError: the reply has no entries, or others.
    """
    if run is None or run.first != first or run.ledger_id != ledger_id:
        raise UnexpectedConditionError(f"a batch read of ledger {ledger_id} entry {first} gave no such entry")
    return verified_prefix(run.slice(first, min(run.count, count)), digester)


def entry_or_error(reply: ReadReply, ledger_id: int, entry_id: int) -> bytes | Exception:
    """Return what the reply to a single read says.

    :param ledger_id: that was asked for, as was ``entry_id``.
    :returns: the bytes of the entry, not verified, or why there are none.
    """
    if reply.status is not Status.EOK:
        return ERROR_OF_STATUS[reply.status](ledger_id, entry_id)
    if reply.entry is None:
        return DigestMatchError(ledger_id, entry_id, "nothing came with the reply")
    return reply.entry


class SingleReads:
    """Entries that one ensemble keeps, each read by itself.

    Answers are verified by :meth:`check`, all columns of a range at once where all of it came: a tenth of the time that
    entries take one by one.

    :ivar stored: verified entries by id.
    :ivar errors: why bookies did not give an entry, by its id and theirs.
    :ivar gave: bookies that gave a verified entry.
    """

    def __init__(self, ledger_id: int, wanted: Sequence[int], digester: Digester) -> None:
        self.stored: dict[int, bytes] = {}
        self.errors: dict[int, dict[str, Exception]] = {}
        self.gave: set[str] = set()
        self._ledger_id = ledger_id
        self._wanted = wanted
        self._digester = digester
        self._given: list[tuple[int, str, bytes]] = []
        self._run: EntryRun | None = None

    def missing(self) -> list[int]:
        """Return the ids of the entries that did not come yet; :meth:`check` before, or damaged ones count as there."""
        given = {entry_id for entry_id, _, _ in self._given}
        return [entry_id for entry_id in self._wanted if entry_id not in self.stored and entry_id not in given]

    def take(self, bookie_id: str, answers: Mapping[int, bytes | Exception]) -> None:
        """Take over what a bookie answered.

        :param answers: bytes that are not verified, or an error, by entry id.
        """
        for entry_id, answer in answers.items():
            if isinstance(answer, bytes):
                self._given.append((entry_id, bookie_id, answer))
            else:
                self._failed(entry_id, bookie_id, answer)

    def check(self) -> list[tuple[str, int, DigestMatchError]]:
        """Verify what came since the last time.

        :returns: each bookie and entry id whose bytes are not right, and why.
        """
        given, self._given = self._given, []
        if not self.stored and self._is_sound({entry_id: stored for entry_id, _, stored in given}):
            self.gave.update(bookie_id for _, bookie_id, _ in given)
            return []
        wrong = []
        for entry_id, bookie_id, stored in given:
            try:
                self._digester.entry(self._ledger_id, entry_id, stored)
            except DigestMatchError as error:
                self._failed(entry_id, bookie_id, error)
                wrong.append((bookie_id, entry_id, error))
            else:
                self.stored[entry_id] = stored
                self.gave.add(bookie_id)
        return wrong

    def _is_sound(self, found: dict[int, bytes]) -> bool:
        """Verify all of a range together."""
        if not isinstance(self._wanted, range) or len(found) < len(self._wanted):
            return False
        run = self._run_of(list(map(found.__getitem__, self._wanted)))
        try:
            self._digester.verify(run)
        except DigestMatchError:
            return False
        self.stored, self._run = found, run
        return True

    def _failed(self, entry_id: int, bookie_id: str, error: Exception) -> None:
        self.errors.setdefault(entry_id, {})[bookie_id] = error

    def run(self) -> EntryRun:
        """Return the entries up to the first that no replica gave; at least one.

        :raises Exception: :func:`most_telling`: there is not even the first.
        """
        if self._run is not None:
            return self._run
        first = self._wanted[0]
        if first not in self.stored:
            raise most_telling(self.errors[first].values())
        return self._run_of([self.stored[entry_id] for entry_id in takewhile(self.stored.__contains__, self._wanted)])

    def _run_of(self, stored: Sequence[bytes]) -> EntryRun:
        return EntryRun.of_entries(self._ledger_id, self._wanted[0], stored)
