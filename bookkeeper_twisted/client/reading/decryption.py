"""The digester of an encrypted ledger's readers: it verifies and decrypts entries."""

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from operator import add
from typing import TYPE_CHECKING

from ...codec.digest import Digester
from ...entries.columns import column
from ...entries.entry_run import ENTRY_HEADER_SIZE, EntryRun, lay_out
from ...errors import UnauthorizedAccessError
from ...model import DigestType

if TYPE_CHECKING:
    from ...security.entry_cipher import EntryCipher

_HEAD, _ID, _LENGTH = (4, 4 + ENTRY_HEADER_SIZE), (12, 20), (28, 36)
"""Begin and end offsets of the header of an entry, its entry id and its ledger length.

They are counted from the four bytes with the entry's size, which come before the header.
"""

_PREFIX_SIZE = 4  # size of the random bytes that the writer puts before each encrypted payload


class _OpenedRun(EntryRun):
    """A run (consecutive entries) whose payloads are decrypted; it has no digests.

    :ivar payloads: the decrypted payload of each entry.
    """

    __slots__ = ("payloads",)

    def __init__(self, run: EntryRun, heads: Sequence[bytes], payloads: Sequence[bytes]) -> None:
        """:param run: the encrypted entries.
        :param heads: the header of each entry.
        """
        self.payloads = payloads
        super().__init__(run.ledger_id, run.first, run.count, *lay_out(list(map(add, heads, payloads))))


class _OpenedDigester(Digester):
    """The digester for decrypted runs: it can return their payloads, but has no digests to verify."""

    __slots__ = ()

    def payloads(self, run: EntryRun) -> Sequence[bytes]:
        return run.payloads if isinstance(run, _OpenedRun) else super().payloads(run)


_OPENED = _OpenedDigester(DigestType.DUMMY, b"")


class DecryptingDigester(Digester):
    """A digester that also tests whether entries can be decrypted, and decrypts them.

    A bookie could change an entry together with its CRC32C, but the changed entry cannot be decrypted.  So verification
    fails, and the reader asks the next replica.

    :param cipher: the cipher of the ledger; None if the client has no key, so that entries cannot be read, but the LAC
        can.
    """

    __slots__ = ("_cipher", "_ledger_id", "_latest")

    def __init__(self, digest_type: DigestType, password: bytes, ledger_id: int, cipher: "EntryCipher | None") -> None:
        super().__init__(digest_type, password)
        self._ledger_id = ledger_id
        self._cipher = cipher
        # the run (consecutive entries) that was verified last, and its decrypted form, which opened() returns
        self._latest: tuple[EntryRun, EntryRun] | None = None

    def verify(self, run: EntryRun) -> None:
        super().verify(run)
        if self._cipher is not None:
            self._latest = run, self._decrypted(run, self._cipher)

    def opened(self, run: EntryRun) -> tuple[EntryRun, Digester]:
        """Decrypt the entries of a verified ``run``.

        :returns: the decrypted entries, and the digester whose ``payloads`` returns their payloads.
        :raises bookkeeper_twisted.errors.UnauthorizedAccessError: the client has no key.
        """
        if self._cipher is None:
            detail = "its entries are encrypted, and the client has no key: ledgerKeyProvider is not set"
            raise UnauthorizedAccessError(self._ledger_id, detail=detail)
        latest, self._latest = self._latest, None
        if latest is not None and latest[0] is run:
            return latest[1], _OPENED
        return self._decrypted(run, self._cipher), _OPENED

    def _decrypted(self, run: EntryRun, cipher: "EntryCipher") -> EntryRun:
        data, at = run.data, self.payload_at
        text = at + _PREFIX_SIZE
        if run.offsets is None and run.stride >= text:
            cut = partial(column, data, run.stride, run.count)
            columns = cut(*_ID), cut(*_LENGTH), cut(at, text), cut(text, run.stride)
            heads = cut(*_HEAD)
        else:
            bounds = list(pairwise(run.record_offsets()))
            ids, lengths, heads = ([data[a + i : a + j] for a, _ in bounds] for i, j in (_ID, _LENGTH, _HEAD))
            prefixes = [data[a + at : a + text] for a, _ in bounds]
            columns = ids, lengths, prefixes, [data[a + text : b] for a, b in bounds]
        return _OpenedRun(run, heads, cipher.decrypt_many(run.first, *columns))
