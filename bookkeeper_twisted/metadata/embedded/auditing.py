"""The election of the auditor, and the settings of auditors, in an embedded store (in memory or in SQLite).

The settings are the delay from the loss of a bookie to the audit of its ledgers, and the time at which each periodic
check last ended.
"""

from collections.abc import Callable
from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IDelayedCall
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface import implementer

from ...codec.metadata_formats import (
    decode_check_time,
    decode_recovery_delay,
    encode_check_time,
    encode_recovery_delay,
)
from ...errors import CodecError, MetadataError, MetadataSerializationError
from ...model import AuditorCheck, check_bookie_id
from ..interfaces import IAuditing, Versioned
from .session import EmbeddedSession

_DELAY = "lostBookieRecoveryDelay"

RETRY_SECONDS = 1.0
"""Seconds after which a candidate for auditor repeats its vote if the store has failed."""

Votes = list[tuple[int, str]]


class EmbeddedCandidacy:
    """A candidate for auditor: it casts a vote, watches all votes, and votes again when its own vote was removed.

    Votes are numbered in the order in which they were cast.  The candidate whose vote has the lowest number is the
    auditor.

    :ivar name: name of the candidate.
    :param listener: called with True when the candidate becomes the auditor, with False when it is no longer the
        auditor.
    """

    _log = Logger()

    def __init__(self, session: EmbeddedSession, name: str, listener: Callable[[bool], None]) -> None:
        self.name = name
        self._session = session
        self._listener = listener
        self._number: int | None = None
        self._in_office = False
        self._stop_watch: Callable[[], None] = lambda: None
        self._voting: Deferred[Any] | None = None
        self._retry: IDelayedCall | None = None

    def start(self) -> None:
        """Vote in the auditor election, and watch the votes of all candidates, until :meth:`stop` or :meth:`lose`.

        :raises MetadataError: the driver is closed.
        """
        self._stop_watch = self._session.watches.watch("votes", self._read, self._votes_are, of_sessions=True)

    def stop(self) -> None:
        """Stop voting, and stop watching the votes; leave this candidate's vote in the store."""
        self._stop_watch()
        self._in_office = False
        if self._retry is not None and self._retry.active():
            self._retry.cancel()
        if self._voting is not None:
            self._voting.cancel()

    def lose(self) -> None:
        """Stop the candidate because its driver is closed; if it is the auditor, call its listener with False."""
        was_in_office = self._in_office
        self.stop()
        if was_in_office:
            self._notify(False)

    async def _read(self) -> Votes:
        return await self._session.read(self._session.store.votes)

    def _votes_are(self, votes: Votes) -> None:
        numbers = [number for number, _ in votes]
        elected = bool(numbers) and numbers[0] == self._number
        if elected is not self._in_office:
            self._in_office = elected
            self._notify(elected)
        if self._number not in numbers and self._voting is None:
            self._vote()

    def _notify(self, elected: bool) -> None:
        try:
            self._listener(elected)
        except Exception:
            self._log.failure("a listener for the auditor's office failed")

    def _vote(self) -> None:
        self._voting = Deferred.fromCoroutine(self._cast())
        self._voting.addCallbacks(self._counted, self._failed)

    async def _cast(self) -> Votes:
        self._number = None
        self._number = await self._session.write(self._session.store.vote, self.name)
        return await self._read()

    def _counted(self, votes: Votes) -> None:
        self._voting = None
        self._votes_are(votes)

    def _failed(self, failure: Failure) -> None:
        self._voting = None
        if failure.check(CancelledError):
            return
        self._log.warn("a vote for the auditor failed: {error}; trying again", error=failure.value)
        self._retry = self._session.clock.callLater(RETRY_SECONDS, self._vote)


@implementer(IAuditing)
class EmbeddedAuditing:
    """The election of the auditor, the recovery delay of lost bookies, and the times of checks, in an embedded store.
    """

    def __init__(self, session: EmbeddedSession) -> None:
        self._session = session
        self._store = session.store
        self._candidacy: EmbeddedCandidacy | None = None

    def stop(self) -> None:
        """Stop the candidate of this driver; if the candidate is the auditor, call its listener with False."""
        candidacy, self._candidacy = self._candidacy, None
        if candidacy is not None:
            candidacy.lose()

    # -- the election --

    def stand(self, candidate: str, listener: Callable[[bool], None]) -> None:
        check_bookie_id(candidate)
        if self._candidacy is not None:
            raise MetadataError(f"{self._session.uri}: {self._candidacy.name} stands already")
        candidacy = EmbeddedCandidacy(self._session, candidate, listener)
        candidacy.start()
        self._candidacy = candidacy

    async def withdraw(self) -> None:
        candidacy, self._candidacy = self._candidacy, None
        if candidacy is not None:
            candidacy.stop()
            await self._session.write(self._store.withdraw_vote)

    async def auditor(self) -> str | None:
        votes = await self._session.read(self._store.votes)
        return votes[0][1] if votes else None

    # -- the delay --

    async def lost_bookie_delay(self) -> int | None:
        return self._delay_in(await self._stored_delay())

    async def set_lost_bookie_delay(self, seconds: int) -> None:
        await self._session.write(self._store.write_setting, _DELAY, encode_recovery_delay(seconds))

    def watch_lost_bookie_delay(self, listener: Callable[[int | None], None]) -> Callable[[], None]:
        return self._session.watches.watch(_DELAY, self._stored_delay, lambda stored: listener(self._delay_in(stored)))

    async def _stored_delay(self) -> Versioned[bytes] | None:
        return await self._session.read(self._store.read_setting, _DELAY)

    def _delay_in(self, stored: Versioned[bytes] | None) -> int | None:
        try:
            return None if stored is None else decode_recovery_delay(stored.value)
        except CodecError as error:
            raise MetadataSerializationError(f"{self._session.uri}: {_DELAY}: {error}") from error

    # -- times of checks --

    async def check_time(self, check: AuditorCheck) -> int | None:
        stored = await self._session.read(self._store.read_setting, check.value)
        try:
            return None if stored is None else decode_check_time(check, stored.value)
        except CodecError as error:
            raise MetadataSerializationError(f"{self._session.uri}: {check.value}: {error}") from error

    async def set_check_time(self, check: AuditorCheck, ms: int | None) -> None:
        data = None if ms is None else encode_check_time(check, ms)
        await self._session.write(self._store.write_setting, check.value, data)
