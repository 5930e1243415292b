"""Reads the metadata of ledgers one by one, and goes on past those whose stored metadata cannot be decoded.

Every walk over ledgers that must not end at the first such ledger reads by :class:`UndecodedLedgers`.
"""

from collections.abc import Callable, Collection
from heapq import nsmallest

from ..errors import CodecError, MetadataSerializationError, NoSuchLedgerMetadataError
from ..model import LedgerMetadata
from .interfaces import ILedgerManager

_NAMED = 5


def _nothing(ledger_id: int, reason: str) -> None:
    """Do nothing with a ledger that cannot be decoded."""


class UndecodedLedgers:
    """The ledgers whose metadata a walk over ledgers could not decode.

    :param noted: called with the id of each such ledger, and why it cannot be decoded, when it is read.
    :ivar ids: ids of these ledgers; one that was read again, and was decoded or does not exist then, is not among them.
    :ivar reason: why the first one cannot be decoded; empty if there was none.
    """

    def __init__(self, noted: Callable[[int, str], object] = _nothing) -> None:
        self._noted = noted
        self.ids: set[int] = set()
        self.reason = ""

    async def read(self, ledgers: ILedgerManager, ledger_id: int) -> LedgerMetadata | None:
        """Read the metadata of a ledger; return None if the ledger does not exist, or if they cannot be decoded.

        In the second case the ledger is in :attr:`ids` from now on.

        :param ledgers: the ledgers of the metadata store.
        :param ledger_id: id of the ledger.
        :raises bookkeeper_twisted.errors.MetadataError: the metadata store failed.
        """
        metadata = None
        try:
            metadata = (await ledgers.read(ledger_id)).value
        except NoSuchLedgerMetadataError:
            pass
        except (CodecError, MetadataSerializationError) as error:
            self.ids.add(ledger_id)
            self.reason = self.reason or str(error)
            self._noted(ledger_id, str(error))
            return None
        self.ids.discard(ledger_id)
        return metadata


def undecoded_text(ledger_ids: Collection[int], what: str, format_id: Callable[[int], str] = str) -> str:
    """Return a text that says ``what`` of ledgers whose metadata cannot be read or decoded, and names the first five.

    :param ledger_ids: ids of these ledgers, at least one.
    :param what: what follows from that, such as "may need the bookie".
    :param format_id: formats the id of a ledger.
    """
    which, whose = ("ledger", "its") if len(ledger_ids) == 1 else ("ledgers", "their")
    first = ", ".join(map(format_id, nsmallest(_NAMED, ledger_ids)))
    return f"{len(ledger_ids)} {which} {what}, as {whose} metadata cannot be read or decoded, such as ledger {first}"
