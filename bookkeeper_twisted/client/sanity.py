"""Ledgers that are written only to see whether that works: read back, then deleted."""

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
    """The result of a check of a bookie.

    :ivar n_read: how many entries were read.
    :ivar passed: whether they were the entries that had been written.
    """

    ledger_id: int
    n_read: int
    passed: bool


async def check_bookie(client: BookKeeper, n_entries: int = 10) -> SanityReport:
    """Write entries to a ledger and read them back.

    :param client: its placement policy says which bookie is meant, as :class:`OneBookie` does.
    :raises bookkeeper_twisted.errors.BookKeeperError: the bookie, or the metadata store, cannot be used.
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
    """Create a ledger for the length of a context, and delete it at its end.

    :param ensemble_size: as of :meth:`.BookKeeper.create_ledger`, as are ``write_quorum`` and ``ack_quorum``.
    :raises bookkeeper_twisted.errors.BookKeeperError: it could not be created, or not deleted.
    """
    writer = await client.create_ledger(ensemble_size, write_quorum, ack_quorum)
    try:
        yield writer
    finally:
        await writer.close().addErrback(lambda failure: None)  # the writer has reported why
        await client.delete_ledger(writer.ledger_id)


async def append_all(writer: LedgerWriter, payloads: Iterable[bytes]) -> int:
    """Append payloads, a part at a time, and close the ledger.

    :param writer: of the ledger.
    :param payloads: any number; no more of them are held than those of one part.
    :returns: the last id, -1 if there is none.
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
    """Places every ledger on one bookie."""

    bookie_id: str

    async def prepare(self, bookies: Collection[str]) -> None:
        """Nothing."""

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
        """Strict: there are no rules to break."""
        return Adherence.STRICT
