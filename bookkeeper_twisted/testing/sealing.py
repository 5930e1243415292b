"""Sealed entries as a bookie keeps them, for tests that need some."""

from collections.abc import Sequence

from ..codec.adds import seal_adds
from ..codec.digest import Digester, pack_headers
from ..entries.entry_run import EntryRun


def sealed(
    digester: Digester, ledger_id: int, first: int, last_add_confirmed: int, length: int, payloads: Sequence[bytes]
) -> EntryRun:
    """Seal entries of consecutive ids as a writer does.

    :param first: id of the first one.
    :param last_add_confirmed: the LAC in their headers.
    :param length: bytes of all payloads of the ledger before the first one.
    :param payloads: at least one.
    """
    count = len(payloads)
    headers = pack_headers(ledger_id, first, last_add_confirmed, length, list(map(len, payloads)))
    adds = seal_adds(digester, (ledger_id,) * count, range(first, first + count), headers, payloads)
    return EntryRun.of_entries(ledger_id, first, adds.entries())
