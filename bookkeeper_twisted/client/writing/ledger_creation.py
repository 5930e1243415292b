"""Creates ledgers: chooses bookies and an id, and stores metadata.  Bookies learn of a ledger by its first entry."""

from collections.abc import Mapping

import attrs

from ...arguments import check_integer, refusal
from ...errors import LedgerExistsError, NotEnoughBookiesError
from ...ledger.schedule import Schedule
from ...masking import masked
from ...metadata.interfaces import ILedgerManager, Versioned
from ...model import DigestType, LedgerMetadata, Segment, WriteFlag, check_ledger_id
from ...placement.bookie_watcher import BookieWatcher

LARGEST_ENSEMBLE = 1000
"""Maximum number of bookies of an ensemble; it limits the memory for the tables of write sets."""

_WRITE_FLAGS = (WriteFlag.NONE, WriteFlag.DEFERRED_SYNC)


@attrs.frozen(kw_only=True)
class NewLedger:
    """The properties of a ledger to create.

    :ivar ledger_id: the wanted id; None if the metadata store must generate a new one.
    :raises bookkeeper_twisted.errors.IncorrectParameterError: the id or the flags are invalid, or the sizes do not
        satisfy ensemble size >= write quorum >= ack quorum >= 1.
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
        # raises an error unless ensemble size >= write quorum >= ack quorum
        Schedule(self.ensemble_size, self.write_quorum, self.ack_quorum)
        if self.ledger_id is not None:
            check_ledger_id(self.ledger_id)
        if not isinstance(self.write_flags, WriteFlag) or self.write_flags not in _WRITE_FLAGS:
            raise refusal("write_flags", self.write_flags, f"one of {', '.join(map(repr, _WRITE_FLAGS))}")

    def metadata(self, ensemble: tuple[str, ...], token: int) -> LedgerMetadata:
        """Make the metadata of the new ledger.

        :param token: a random number to store in the metadata.  If the outcome of the write is unknown, this client
            finds out by the number whether the stored metadata are its own.
        """
        return LedgerMetadata(
            len(ensemble), self.write_quorum, self.ack_quorum, (Segment(0, ensemble),), digest_type=self.digest_type,
            password=self.password, custom_metadata=self.custom_metadata, c_token=token,
        )  # fmt: skip


async def choose_ensemble(wanted: NewLedger, watcher: BookieWatcher, opportunistic: bool) -> tuple[str, ...]:
    """Choose the bookies of a new ledger.

    :param wanted: the properties of the ledger, with sizes and custom metadata.
    :param watcher: chooses among the available bookies by the placement policy.
    :param opportunistic: whether a smaller ensemble, of at least the write quorum, is allowed if there are too few
        bookies.
    :returns: ids of the bookies, in the order of their positions in the ensemble.
    :raises bookkeeper_twisted.errors.NotEnoughBookiesError: too few bookies are writable.
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
    """Store the metadata of a new ledger under the wanted id, or under an id that no ledger has had.

    :param wanted: the properties of the ledger, with the id or None.
    :param metadata: the metadata of the ledger.
    :returns: the ledger's id, and the stored metadata.
    :raises bookkeeper_twisted.errors.LedgerExistsError: a ledger with the wanted id exists.
    """
    if wanted.ledger_id is not None:
        return wanted.ledger_id, await ledgers.create(wanted.ledger_id, metadata)
    while True:
        ledger_id = await ledgers.generate_id()
        try:
            return ledger_id, await ledgers.create(ledger_id, metadata)
        except LedgerExistsError:
            continue  # another client has created a ledger with this id, so try another id
