"""Reading the last add confirmed (LAC) of unclosed ledgers from the bookies of their last ensembles."""

from collections.abc import Mapping, Sequence
from functools import partial

import attrs

from ..codec.digest import Digester
from ..errors import BookKeeperError, NoSuchEntryError, NoSuchLedgerError, ReadError
from ..ledger.schedule import Schedule
from ..model import INVALID_ENTRY_ID
from . import requests
from .connection import Address
from .pool import SocketPool

_ASKED_AT_ONCE = 256


@attrs.frozen
class UnclosedLedger:
    """A ledger that is not closed: its metadata do not say which entry is the last.

    :ivar ensemble: the newest ensemble of the ledger.
    """

    ledger_id: int
    ensemble: tuple[Address, ...]
    write_quorum: int
    ack_quorum: int
    digester: Digester


@attrs.frozen
class LastConfirmed:
    """The last confirmed entry of a ledger, according to one or more bookies.

    :ivar last_add_confirmed: the highest LAC that one of the bookies knows, -1 if they know none.
    :ivar entry_id: the highest id of an entry that one of the bookies returned, -1 if none did.
    :ivar length: bytes of all payloads of the ledger up to and including the entry ``entry_id``.
    """

    last_add_confirmed: int = INVALID_ENTRY_ID
    entry_id: int = INVALID_ENTRY_ID
    length: int = 0

    def merged(self, other: "LastConfirmed") -> "LastConfirmed":
        """Combine this answer with the ``other``: take the higher LAC, and the entry with the higher id."""
        newest = max(self, other, key=lambda known: known.entry_id)
        return LastConfirmed(
            max(self.last_add_confirmed, other.last_add_confirmed), newest.entry_id, newest.length
        )  # fmt: skip


class _Question:
    """The request for the LAC of one ledger, and the answers that bookies have given so far."""

    def __init__(self, ledger: UnclosedLedger) -> None:
        self.ledger = ledger
        self.known = LastConfirmed()
        self._schedule = Schedule(len(ledger.ensemble), ledger.write_quorum, ledger.ack_quorum)
        self._heard: set[int] = set()
        self._errors: dict[Address, Exception] = {}

    @property
    def covered(self) -> bool:
        """Whether the bookies that have not answered are too few for an ack quorum (safety rule S17)."""
        return self._schedule.is_covered(self._heard)

    def answered(self, address: Address, answer: requests.LacAnswer | Exception) -> None:
        """Count the answer of one bookie; "no such ledger" is an answer, too."""
        try:
            if not isinstance(answer, NoSuchEntryError | NoSuchLedgerError):
                if isinstance(answer, Exception):
                    raise answer
                self.known = self.known.merged(self._verified(*answer))
            self._heard.add(self.ledger.ensemble.index(address))
        except BookKeeperError as error:
            self._errors[address] = error

    def _verified(self, packet: bytes | None, last_entry: bytes | None) -> LastConfirmed:
        known = LastConfirmed()
        ledger_id, digester = self.ledger.ledger_id, self.ledger.digester
        if last_entry:
            entry = digester.entry(ledger_id, None, last_entry)
            known = LastConfirmed(entry.last_add_confirmed, entry.entry_id, entry.length)
        if packet:
            known = known.merged(LastConfirmed(digester.verify_lac(ledger_id, packet)))
        return known

    def outcome(self) -> LastConfirmed | BookKeeperError:
        """Return the combined answer of the bookies; if too few have answered, return the error."""
        if self.covered:
            return self.known
        errors = "; ".join(f"bookie {address.bookie_id}: {error}" for address, error in self._errors.items())
        return ReadError(f"too few bookies know the last add of ledger {self.ledger.ledger_id}: {errors}")


def read_last_add_confirmed(
    pool: SocketPool, ledgers: Sequence[UnclosedLedger]
) -> dict[int, LastConfirmed | BookKeeperError]:
    """Ask bookies, one after the other, for the last add confirmed of all their ledgers in question, over V3.

    Bookies that could not be reached a short time ago are asked last.  They are asked only about ledgers for which the
    answers of other bookies do not suffice.

    :param ledgers: ledgers that are not closed; any number.
    :returns: the answer for each ledger, by its id; an error if too few bookies answered.
    """
    questions = {ledger.ledger_id: _Question(ledger) for ledger in ledgers}
    bookies = sorted({address for ledger in ledgers for address in ledger.ensemble}, key=lambda a: a.bookie_id)
    for address in sorted(bookies, key=pool.is_suspect):
        open_questions = [q for q in questions.values() if address in q.ledger.ensemble and not q.covered]
        for at in range(0, len(open_questions), _ASKED_AT_ONCE):
            _ask(pool, address, {q.ledger.ledger_id: q for q in open_questions[at : at + _ASKED_AT_ONCE]})
    return {ledger_id: question.outcome() for ledger_id, question in questions.items()}


def _ask(pool: SocketPool, address: Address, questions: Mapping[int, _Question]) -> None:
    ledger_ids = list(questions)
    send = partial(requests.send_lac_reads, ledger_ids=ledger_ids)
    receive = partial(requests.receive_lacs, ledger_ids=ledger_ids)
    try:
        answers: Mapping[int, requests.LacAnswer | Exception] = pool.begin(address, 3, send, receive).reply()
    except BookKeeperError as error:
        pool.health.failed(address.bookie_id, error)
        answers = dict.fromkeys(ledger_ids, error)
    for ledger_id, question in questions.items():
        question.answered(address, answers[ledger_id])
