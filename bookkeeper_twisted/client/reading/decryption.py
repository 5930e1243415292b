"""The digester of an encrypted ledger's readers: it verifies and decrypts entries."""

from typing import TYPE_CHECKING

from ...codec.digest import Digester
from ...entries.entry_run import ENTRY_HEADER_SIZE, EntryRun
from ...errors import UnauthorizedAccessError
from ...model import DigestType

if TYPE_CHECKING:
    from ...security.entry_cipher import EntryCipher

_LENGTH_AT = ENTRY_HEADER_SIZE - 8  # the length of the ledger is the last number of a header

_OPENED = Digester(DigestType.DUMMY, b"")
"""The digester that cuts out the payloads of decrypted entries; these no longer have a digest."""


class DecryptingDigester(Digester):
    """A digester that also tests whether entries can be decrypted, and decrypts them.

    This detects a bookie that returns changed bytes with a correct CRC32C; the reader then asks the next replica.

    :param cipher: the cipher of the ledger; None if the client has no key: then only reads of entries fail.
    """

    __slots__ = ("_cipher", "_ledger_id", "_latest")

    def __init__(self, digest_type: DigestType, password: bytes, ledger_id: int, cipher: "EntryCipher | None") -> None:
        super().__init__(digest_type, password)
        self._ledger_id = ledger_id
        self._cipher = cipher
        # The run (consecutive entries) that was verified last, and the same run decrypted, which opened() returns next.
        self._latest: tuple[EntryRun, EntryRun] | None = None

    def verify(self, run: EntryRun) -> None:
        super().verify(run)
        if self._cipher is not None:
            self._latest = run, self._decrypted(run, self._cipher)

    def opened(self, run: EntryRun) -> tuple[EntryRun, Digester]:
        """Decrypt the entries of a verified ``run``.

        :returns: the run with the decrypted entries, and the digester whose ``payloads`` cuts out their payloads.
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
        payload_at, decrypt = ENTRY_HEADER_SIZE + self.size, cipher.decrypt
        entries = [
            stored[:ENTRY_HEADER_SIZE]
            + decrypt(entry_id, stored[payload_at:], int.from_bytes(stored[_LENGTH_AT:ENTRY_HEADER_SIZE], "big"))
            for entry_id, stored in enumerate(run.entries(), run.first)
        ]
        return EntryRun.of_entries(run.ledger_id, run.first, entries)
