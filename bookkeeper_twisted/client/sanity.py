"""Sanity checks: ledgers that are written, read back and deleted only to test a bookie or a cluster."""

from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import islice

import attrs
from zope.interface import implementer

from ..errors import NotEnoughBookiesError
from ..ledger.placement import Adherence, Candidates
from ..placement.interfaces import IPlacementPolicy
from .bookkeeper import BookKeeper
from .writing.write_handle import LedgerWriter

_AT_ONCE = 100


@attrs.frozen
class SanityReport:
    """The result of a sanity check of a bookie.

    :ivar n_read: number of entries that were read.
    :ivar passed: whether all written entries were read and had the written payloads.
    """

    ledger_id: int
    n_read: int
    passed: bool


async def check_bookie(client: BookKeeper, n_entries: int = 10) -> SanityReport:
    """Check a bookie: write entries to a new ledger, read them back, and delete the ledger.

    :param client: a client whose placement policy chooses the bookie to check, as :class:`OneBookie` does.
    :raises bookkeeper_twisted.errors.BookKeeperError: the bookie or the metadata store cannot be used.
    """
    n_read, same = 0, True
    async with trial_ledger(client, 1, 1, 1) as writer:
        last = await append_all(writer, map(_payload, range(n_entries)))
        reader = await client.open_ledger(writer.ledger_id)
        async for entry in reader.entries():
            same = same and entry.data == _payload(n_read)
            n_read += 1
    return SanityReport(writer.ledger_id, n_read, same and n_read == n_entries == last + 1)


def _payload(number: int) -> bytes:
    return b"entry-%d" % number


@asynccontextmanager
async def trial_ledger(
    client: BookKeeper, ensemble_size: int, write_quorum: int, ack_quorum: int
) -> AsyncIterator[LedgerWriter]:
    """Create a ledger, and delete it when the context ends.

    :param ensemble_size, write_quorum, ack_quorum: the sizes of the ensemble, the write quorum and the ack quorum.
    :raises bookkeeper_twisted.errors.BookKeeperError: the ledger could not be created or deleted.
    """
    writer = await client.create_ledger(ensemble_size, write_quorum, ack_quorum)
    try:
        yield writer
    finally:
        # ignore the error of close(): it only repeats the error of a failed append, which was raised already
        await writer.close().addErrback(lambda failure: None)
        await client.delete_ledger(writer.ledger_id)


async def append_all(writer: LedgerWriter, payloads: Iterable[bytes]) -> int:
    """Append payloads, at most 100 at a time, and close the ledger when all are acknowledged.

    :param writer: the writer of the ledger.
    :param payloads: the payloads; at most 100 of them are in memory at a time.
    :returns: the last entry id, -1 if there is no payload.
    """
    last = -1
    rest = iter(payloads)
    while part := list(islice(rest, _AT_ONCE)):
        _, last = await writer.append_many(part)
    await writer.close()
    return last


@implementer(IPlacementPolicy)
@attrs.frozen
class OneBookie:
    """A placement policy that puts every ledger on one bookie."""

    bookie_id: str

    async def prepare(self, bookies: Collection[str]) -> None:
        """Do nothing: this policy needs no facts about bookies."""

    def new_ensemble(
        self, size: int, write_quorum: int, candidates: Candidates,
        custom_metadata: Mapping[str, bytes] | None = None,
    ) -> Sequence[str]:  # fmt: skip
        if size != 1 or self.bookie_id not in candidates.writable:
            raise NotEnoughBookiesError(f"bookie {self.bookie_id} is not writable")
        return (self.bookie_id,)

    def replace_bookie(
        self, position: int, ensemble: Sequence[str], write_quorum: int, candidates: Candidates,
        custom_metadata: Mapping[str, bytes] | None = None,
    ) -> str:  # fmt: skip
        raise NotEnoughBookiesError(f"no bookie but {self.bookie_id} is wanted")

    def adherence(self, ensemble: Sequence[str], write_quorum: int) -> Adherence:
        """Return STRICT: this policy has no rules that an ensemble could break."""
        return Adherence.STRICT
