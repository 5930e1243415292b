"""The rules for replies to reads, without I/O: verification, the next request, the error to raise.

An entry is accepted if its ids and its digest are right, whichever bookie sent it.  A batch read asks
one bookie for consecutive entries; the entries before a damaged one are accepted.  Single reads (:class:`SingleReads`)
ask one bookie of the write set for each entry; if it does not return the entry, they ask the next bookie.  An entry
counts as missing only if every bookie of its write set answered "no such entry" (:func:`most_telling`).

Three users send requests, each in its own way, and pass the answers to this module: the client, which does not wait for
a slow bookie; Spark tasks, which use blocking sockets; and the repair of replicas.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import takewhile
from typing import cast

import attrs

from ..codec.digest import Digester
from ..codec.runs import ReadReply
from ..entries.entry_run import EntryRun
from ..errors import (
    ERROR_OF_STATUS,
    BookieError,
    BookieHandleNotAvailableError,
    BookieIOError,
    ClientClosedError,
    DigestMatchError,
    NoSuchEntryError,
    NoSuchLedgerError,
    Status,
    UnexpectedConditionError,
)
from ..model import LedgerMetadata
from .entry_batch import verified_prefix

NO_ENTRY = (NoSuchEntryError, NoSuchLedgerError)
"""Errors with which a bookie answers that it does not have an entry; no other error means that."""

NO_COPY = (*NO_ENTRY, DigestMatchError, BookieIOError)
"""Errors that show that a bookie has no undamaged copy of an entry.

After any other error, for example after a refused authentication, the bookie may have one.
"""

FIRST_GUESS = 4 << 10
"""The assumed size of an entry in bytes before any entry has been read."""

FIRST_ENTRIES = 32
"""Maximum number of entries to request while their size is unknown; each entry may have megabytes."""

MAX_SINGLE_READS = 1024
"""Maximum number of single reads that are sent together.

Measured with a striped ledger: with half of this number, the client and the bookies need a sixth more time for an
entry; with twice the number, they need the same time.
"""

ENTRY_OVERHEAD = 40
"""Size in bytes of a stored entry without its payload: length word, header and CRC32C.

Other digests need up to 16 bytes more.
"""


class UsualSize:
    """The expected size of an entry: the mean size of the entries received last.

    :ivar n_bytes: the expected size in bytes, > 0.
    """

    __slots__ = ("n_bytes", "_is_known")

    def __init__(self, known: int = 0) -> None:
        """:param known: mean size of an entry in bytes, 0 if unknown."""
        self.n_bytes = known or FIRST_GUESS
        self._is_known = bool(known)

    def entries_in(self, n_bytes: int, most: int) -> int:
        """Return the number of entries to request if the reply should not exceed ``n_bytes`` bytes.

        :param n_bytes: maximum number of bytes of the reply.
        :param most: maximum number of entries to request; the result is at least one.
        """
        return max(min(n_bytes // self.n_bytes, most if self._is_known else min(most, FIRST_ENTRIES)), 1)

    def learn(self, entries: int, n_bytes: int) -> None:
        """Update the expected size from entries that were received.

        :param entries: number of received entries; 0 changes nothing.
        :param n_bytes: total size of all these entries in bytes.
        """
        if entries:
            self.n_bytes = max(n_bytes // entries, 1)
            self._is_known = True


def usual_size_of(metadata: LedgerMetadata) -> UsualSize:
    """Return the expected size of a ledger's entries: by its ``metadata`` if the ledger is closed, else a guess."""
    count = metadata.last_entry_id + 1
    return UsualSize(ENTRY_OVERHEAD + metadata.length // count if metadata.closed and count else 0)


Choose = Callable[[Iterable[Exception]], Exception]
"""A function that chooses one of the errors with which bookies failed to return an entry."""


def most_telling(errors: Iterable[Exception]) -> Exception:
    """Return the error to raise after all bookies of the write set failed to return an entry.

    The error says that the entry is missing only if every bookie answered so.

    :param errors: the error of each bookie, at least one.
    :returns: an error other than "no such entry", "no such ledger" and "no connection", if there is one; otherwise "no
        connection", if there is one; otherwise the last error.
    """
    errors = list(errors)
    for error in errors:
        if not isinstance(error, (*NO_ENTRY, BookieHandleNotAvailableError)):
            return error
    for error in errors:
        if isinstance(error, BookieHandleNotAvailableError):
            return error
    return errors[-1]


def least_certain(errors: Iterable[Exception]) -> Exception:
    """Return the error that decides whether an entry is lost, after all bookies failed to return it.

    The entry is lost only if the result is one of :data:`NO_COPY`: then no bookie that can be reached has an undamaged
    copy.

    :param errors: the error of each bookie, at least one.
    :returns: an error of a bookie that was reached and may have an undamaged copy, for example because it refuses to
        answer; if there is none, :func:`most_telling` of all errors.
    """
    errors = list(errors)
    unclear = [error for error in errors if not isinstance(error, (*NO_COPY, BookieHandleNotAvailableError))]
    return unclear[0] if unclear else most_telling(errors)


def with_bookie(error: Exception, bookie_id: str) -> str:
    """Return the text of an ``error`` with which a request to the bookie ``bookie_id`` has failed.

    The text begins with the bookie, unless it names the bookie elsewhere.
    """
    text = str(error) or type(error).__name__
    is_named = re.search(rf"(?<![\w.-]){re.escape(bookie_id)}(?![\w.-])", text)
    return text if is_named else f"bookie {bookie_id}: {text}"


def failed_request(
    errors: Mapping[str, Exception], ledger_id: int, entry_id: int = -1, choose: Choose = most_telling
) -> Exception:
    """Return one of some errors, with a text that names the ledger, the entry and the bookies asked.

    :param errors: the error of each bookie that was asked, by bookie id, at least one.
    :param ledger_id: the requested ledger.
    :param entry_id: the first requested entry that no bookie returned; -1 if no entry was requested.
    :param choose: chooses the error.
    :returns: an error of the same class; ClientClosedError, which no bookie has caused, is not changed.
    """
    error = choose(errors.values())
    if isinstance(error, ClientClosedError):
        return error
    bookie_id = next(bookie_id for bookie_id, each in errors.items() if each is error)
    asked = f"bookies asked: {', '.join(errors)}" if len(errors) > 1 else ""
    if isinstance(error, BookieError):
        told: Exception = attrs.evolve(error, detail=_joined(error.detail, asked), bookie_id=bookie_id)
    elif isinstance(error, DigestMatchError):
        told = attrs.evolve(error, detail=_joined(f"{error.detail} (bookie {bookie_id})", asked))
    else:
        text = with_bookie(error, bookie_id)
        if f"ledger {ledger_id}" not in text:
            entry = f" entry {entry_id}" if entry_id >= 0 else ""
            text = f"ledger {ledger_id}{entry}: {text}"
        told = type(error)(_joined(text, asked))
    told.__cause__ = error.__cause__
    return told


def _joined(*parts: str) -> str:
    return "; ".join(part for part in parts if part)


def requested_batch(run: EntryRun | None, ledger_id: int, first: int, count: int) -> EntryRun:
    """Return the unverified entries in the reply to a batch read.

    :param run: the run (consecutive entries) in the reply; None if the reply has no entries.
    :param ledger_id: the requested ledger; ``first`` is the id of the first requested entry.
    :param count: number of requested entries; further entries of the run are left out.
    :raises UnexpectedConditionError: the reply has no entries, or other entries than requested.
    """
    if run is None or run.first != first or run.ledger_id != ledger_id:
        raise UnexpectedConditionError(f"a batch read of ledger {ledger_id} entry {first} gave no such entry")
    return run.slice(first, min(run.count, count))


def verified_batch(run: EntryRun | None, ledger_id: int, first: int, count: int, digester: Digester) -> EntryRun:
    """Verify the reply to a batch read; return its entries before the first invalid one.

    :param run: the run (consecutive entries) in the reply; None if the reply has no entries.
    :param ledger_id: the requested ledger; ``first`` is the id of the first requested entry.
    :param count: number of requested entries; further entries of the run are left out.
    :raises DigestMatchError: the first entry is invalid.
    :raises UnexpectedConditionError: the reply has no entries, or other entries than requested.
    """
    return verified_prefix(requested_batch(run, ledger_id, first, count), digester)


def entry_or_error(reply: ReadReply, ledger_id: int, entry_id: int, bookie_id: str = "") -> bytes | Exception:
    """Return the entry in the reply to a single read, or the error that the reply stands for.

    :param ledger_id: the requested ledger.
    :param entry_id: the requested entry.
    :param bookie_id: the bookie, for the text of an error; empty if the caller tells it otherwise.
    :returns: the bytes of the entry, not verified, or an error.
    """
    if reply.status is not Status.EOK:
        return ERROR_OF_STATUS[reply.status](ledger_id, entry_id, bookie_id=bookie_id)
    if reply.entry is None:
        return DigestMatchError(ledger_id, entry_id, "nothing came with the reply")
    return reply.entry


class SingleReads:
    """The answers of bookies to single reads of some entries of one ensemble.

    :meth:`check` verifies the answers.  If all entries of a range were received, it verifies them by one call, which
    takes a tenth of the time of a call for each entry.

    :ivar wanted: the ids of the requested entries.
    :ivar stored: verified entries by id.
    :ivar errors: for each entry id, the error of each bookie that failed to return the entry.
    :ivar gave: ids of the bookies that sent a valid entry.
    """

    def __init__(self, ledger_id: int, wanted: Sequence[int], digester: Digester) -> None:
        self.stored: dict[int, bytes] = {}
        self.errors: dict[int, dict[str, Exception]] = {}
        self.gave: set[str] = set()
        self._ledger_id = ledger_id
        self.wanted = wanted
        self._digester = digester
        self._given: list[tuple[str, Mapping[int, bytes]]] = []
        self._run: EntryRun | None = None

    def missing(self) -> Sequence[int]:
        """Return the ids of the wanted entries that no bookie has sent.

        An entry that :meth:`check` found invalid counts as not sent.
        """
        if self._run is not None:
            return ()
        if not self.stored and not self._given:
            return self.wanted
        known = set(self.stored).union(*[entries for _, entries in self._given])
        return [entry_id for entry_id in self.wanted if entry_id not in known]

    def take(self, bookie_id: str, answers: Mapping[int, bytes | Exception]) -> Mapping[int, Exception]:
        """Record the answers of one bookie to single reads.

        :param answers: for each entry id, the received bytes, not verified, or an error.
        :returns: the errors in ``answers``, by entry id.
        """
        if set(map(type, answers.values())) == {bytes}:  # the usual case: all answers are entries
            self._given.append((bookie_id, cast(Mapping[int, bytes], answers)))
            return {}
        entries = {entry_id: answer for entry_id, answer in answers.items() if isinstance(answer, bytes)}
        if entries:
            self._given.append((bookie_id, entries))
        errors = {entry_id: answer for entry_id, answer in answers.items() if not isinstance(answer, bytes)}
        for entry_id, error in errors.items():
            self._failed(entry_id, bookie_id, error)
        return errors

    def check(self) -> list[tuple[str, int, DigestMatchError]]:
        """Verify the entries received since the last call.

        :returns: (bookie id, entry id, error) for each invalid entry.
        """
        given, self._given = self._given, []
        found: dict[int, bytes] = {}
        for _, entries in given:
            found.update(entries)
        if not self.stored and self._is_sound(found):
            self.gave.update([bookie_id for bookie_id, _ in given])
            return []
        wrong = []
        for bookie_id, (entry_id, stored) in [(bookie_id, item) for bookie_id, held in given for item in held.items()]:
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
        """Verify all ``found`` entries by one call; return False if one is invalid, or if the range has gaps."""
        if not isinstance(self.wanted, range) or len(found) < len(self.wanted):
            return False
        run = self._run_of(list(map(found.__getitem__, self.wanted)))
        try:
            self._digester.verify(run)
        except DigestMatchError:
            return False
        self.stored, self._run = found, run
        return True

    def _failed(self, entry_id: int, bookie_id: str, error: Exception) -> None:
        self.errors.setdefault(entry_id, {})[bookie_id] = error

    def run(self, choose: Choose = most_telling) -> EntryRun:
        """Return the verified entries before the first missing one, as a run (consecutive entries).

        :param choose: chooses the error to raise from those of the bookies.
        :raises Exception: the first entry is missing; see :func:`failed_request`.
        """
        if self._run is not None:
            return self._run
        first = self.wanted[0]
        if first not in self.stored:
            raise failed_request(self.errors[first], self._ledger_id, first, choose)
        return self._run_of([self.stored[entry_id] for entry_id in takewhile(self.stored.__contains__, self.wanted)])

    def _run_of(self, stored: Sequence[bytes]) -> EntryRun:
        return EntryRun.of_entries(self._ledger_id, self.wanted[0], stored)
