"""Makes entries with headers and digests, as bookies store them, for tests."""

from collections.abc import Sequence

from ..codec.adds import seal_adds
from ..codec.digest import Digester, pack_headers
from ..entries.entry_run import EntryRun


def sealed(
    digester: Digester, ledger_id: int, first: int, last_add_confirmed: int, length: int, payloads: Sequence[bytes]
) -> EntryRun:
    """Make consecutive entries with headers and digests, as a ledger writer does.

    :param first: id of the first entry.
    :param last_add_confirmed: LAC in the headers of all entries.
    :param length: total size in bytes of all payloads of the ledger before the first entry.
    :param payloads: payloads of the entries, at least one.
    """
    count = len(payloads)
    headers = pack_headers(ledger_id, first, last_add_confirmed, length, list(map(len, payloads)))
    adds = seal_adds(digester, (ledger_id,) * count, range(first, first + count), headers, payloads)
    return EntryRun.of_entries(ledger_id, first, adds.entries())
