"""Reads the last add confirmed (LAC) of unclosed ledgers from the bookies of their last ensembles."""

from collections.abc import Mapping, Sequence
from functools import partial

import attrs

from ..codec.digest import Digester
from ..errors import BookKeeperError
from ..ledger.lac_answers import LacAnswers, LastConfirmed, verified_lac
from ..ledger.schedule import Schedule
from . import requests
from .connection import Address
from .pool import OutstandingRequest, SocketPool

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


class _LacRequest:
    """The request for the LAC of one ledger, and the answers that bookies have given so far."""

    def __init__(self, ledger: UnclosedLedger) -> None:
        self.ledger = ledger
        schedule = Schedule(len(ledger.ensemble), ledger.write_quorum, ledger.ack_quorum)
        bookies = [address.bookie_id for address in ledger.ensemble]
        self.answers = LacAnswers(ledger.ledger_id, bookies, schedule.is_covered)

    def answered(self, address: Address, answer: requests.LacAnswer | Exception) -> None:
        try:
            if isinstance(answer, Exception):
                raise answer
            known = verified_lac(self.ledger.digester, self.ledger.ledger_id, *answer)
        except BookKeeperError as error:
            self.answers.failed(address.bookie_id, error)
        else:
            self.answers.heard(address.bookie_id, known)

    def outcome(self) -> LastConfirmed | BookKeeperError:
        """Return the combined answer of the bookies; if too few have answered, return the error."""
        return self.answers.known if self.answers.suffice else self.answers.failure()


def read_last_add_confirmed(
    pool: SocketPool, ledgers: Sequence[UnclosedLedger]
) -> dict[int, LastConfirmed | BookKeeperError]:
    """Find the last add confirmed of unclosed ledgers, by V3 requests to one bookie after the other.

    A bookie is asked only about the ledgers that it keeps, and only about those for which too few bookies have answered
    so far.  Bookies that could not be reached a short time ago are asked last.

    :param ledgers: any number of ledgers that are not closed.
    :returns: for each ledger id, the last add confirmed; an error if too few bookies answered.
    """
    lac_requests = {ledger.ledger_id: _LacRequest(ledger) for ledger in ledgers}
    bookies = sorted({address for ledger in ledgers for address in ledger.ensemble}, key=lambda a: a.bookie_id)
    for address in sorted(bookies, key=pool.is_suspect):
        pending = [r for r in lac_requests.values() if address in r.ledger.ensemble and not r.answers.suffice]
        for at in range(0, len(pending), _ASKED_AT_ONCE):
            _ask(pool, address, {r.ledger.ledger_id: r for r in pending[at : at + _ASKED_AT_ONCE]})
    return {ledger_id: lac_request.outcome() for ledger_id, lac_request in lac_requests.items()}


def _ask(pool: SocketPool, address: Address, lac_requests: Mapping[int, _LacRequest]) -> None:
    ledger_ids = list(lac_requests)
    send = partial(requests.send_lac_reads, ledger_ids=ledger_ids)
    receive = partial(requests.receive_lacs, ledger_ids=ledger_ids)
    asked = OutstandingRequest(pool, address, 3, send, receive)
    try:
        answers: Mapping[int, requests.LacAnswer | Exception] = asked.reply()
    except BookKeeperError as error:
        pool.health.failed(address.bookie_id, error)
        answers = dict.fromkeys(ledger_ids, error)
    for ledger_id, lac_request in lac_requests.items():
        lac_request.answered(address, answers[ledger_id])
