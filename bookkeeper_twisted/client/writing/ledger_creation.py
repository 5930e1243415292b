"""New ledgers: bookies, an id, metadata.  No bookie is asked; each learns of the ledger with its first entry."""

from collections.abc import Mapping

import attrs

from ...arguments import check_integer, refusal
from ...errors import LedgerExistsError, NotEnoughBookiesError, masked
from ...ledger.schedule import Schedule
from ...metadata.interfaces import ILedgerManager, Versioned
from ...model import DigestType, LedgerMetadata, Segment, WriteFlag, check_ledger_id
from ...placement.bookie_watcher import BookieWatcher

LARGEST_ENSEMBLE = 1000
"""Bookies of a ledger at most: a schedule keeps a table of ensemble size times write quorum."""

_WRITE_FLAGS = (WriteFlag.NONE, WriteFlag.DEFERRED_SYNC)


@attrs.frozen(kw_only=True)
class NewLedger:
    """The properties of a ledger that is to be created.

    :ivar ledger_id: None for one that was never given out.
    :raises bookkeeper_twisted.errors.IncorrectParameterError: not E >= Wq >= Aq >= 1, no ledger id, or no flags.
    """

    ensemble_size: int
    write_quorum: int
    ack_quorum: int
    password: bytes = attrs.field(repr=masked)
    digest_type: DigestType
    custom_metadata: Mapping[str, bytes]
    write_flags: WriteFlag = WriteFlag.NONE
    ledger_id: int | None = None

    def __attrs_post_init__(self) -> None:
        for name in ("ensemble_size", "write_quorum", "ack_quorum"):
            check_integer(name, getattr(self, name), 1, LARGEST_ENSEMBLE)
        Schedule(self.ensemble_size, self.write_quorum, self.ack_quorum)  # checks the order of the sizes
        if self.ledger_id is not None:
            check_ledger_id(self.ledger_id)
        if not isinstance(self.write_flags, WriteFlag) or self.write_flags not in _WRITE_FLAGS:
            raise refusal("write_flags", self.write_flags, f"one of {', '.join(map(repr, _WRITE_FLAGS))}")

    def metadata(self, ensemble: tuple[str, ...], token: int) -> LedgerMetadata:
        """The metadata to be stored.

        :param token: marks repetitions of the same create.
        """
        return LedgerMetadata(
            len(ensemble), self.write_quorum, self.ack_quorum, (Segment(0, ensemble),), digest_type=self.digest_type,
            password=self.password, custom_metadata=self.custom_metadata, c_token=token,
        )  # fmt: skip


async def choose_ensemble(wanted: NewLedger, watcher: BookieWatcher, opportunistic: bool) -> tuple[str, ...]:
    """Choose the bookies of a new ledger.

    :param wanted: its sizes and custom metadata.
    :param watcher: chooses.
    :param opportunistic: take fewer bookies than wanted, but a write quorum, where there are not more.
    :returns: ids by position.
    :raises bookkeeper_twisted.errors.NotEnoughBookiesError: there are not even these.
    """
    size = wanted.ensemble_size
    while True:
        try:
            return await watcher.new_ensemble(size, wanted.write_quorum, wanted.custom_metadata)
        except NotEnoughBookiesError:
            if not opportunistic or size == wanted.write_quorum:
                raise
            size = max(wanted.write_quorum, min(size - 1, len(watcher.writable)))


async def store_ledger(
    wanted: NewLedger, ledgers: ILedgerManager, metadata: LedgerMetadata
) -> tuple[int, Versioned[LedgerMetadata]]:
    """Store the metadata of a new ledger, under the wanted id or one that was never given out.

    :param wanted: names the id, or None.
    :param metadata: of the ledger.
    :returns: the ledger's id, and what is stored.
    :raises bookkeeper_twisted.errors.LedgerExistsError: there is a ledger with the wanted id.
    """
    if wanted.ledger_id is not None:
        return wanted.ledger_id, await ledgers.create(wanted.ledger_id, metadata)
    while True:
        ledger_id = await ledgers.generate_id()
        try:
            return ledger_id, await ledgers.create(ledger_id, metadata)
        except LedgerExistsError:
            continue  # another client chose this id
