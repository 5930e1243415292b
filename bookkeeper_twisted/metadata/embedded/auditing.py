"""The election of the auditor, and the settings of auditors, in an embedded store (in memory or in SQLite).

The settings are the delay from the loss of a bookie to the audit of its ledgers, and the time at which each periodic
check last ended.
"""

from collections.abc import Callable

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
from .election import EmbeddedCandidacy
from .session import EmbeddedSession

_DELAY = "lostBookieRecoveryDelay"


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
