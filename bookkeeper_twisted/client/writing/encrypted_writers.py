"""The writers of encrypted ledgers: they encrypt each payload when it gets its entry id."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from ...errors import IllegalOperationError
from ..claims.producer import WhenFull
from ..claims.thread_appender import ThreadAppender
from .adv_write_handle import AdvLedgerWriter
from .appends import AppendingWriter
from .batch import Waiter
from .context import OpenLedger
from .write_handle import LedgerWriter

if TYPE_CHECKING:
    from ...security.entry_cipher import EntryCipher


class _EncryptingWriter(AppendingWriter):
    """A base class of writers that encrypt payloads.  The length of the ledger is the sum of the encrypted payloads."""

    __slots__ = ()

    _ledger: OpenLedger

    def _push(self, payload: bytes, waiter: Waiter) -> None:
        encrypt = self._ledger.cipher.encrypt  # type: ignore[union-attr]  # no cast(), which costs a call an entry
        super()._push(encrypt(self.last_add_pushed + 1, payload, self.length), waiter)

    def _push_many(self, payloads: Sequence[bytes], size: int, waiter: Waiter) -> None:
        cipher = cast("EntryCipher", self._ledger.cipher)
        encrypted = cipher.encrypt_many(self.last_add_pushed + 1, payloads, self.length)
        super()._push_many(encrypted, size + len(payloads) * cipher.overhead, waiter)


class EncryptedLedgerWriter(_EncryptingWriter, LedgerWriter):
    """The writer of an encrypted ledger that numbers its entries in the order of the calls."""

    __slots__ = ()

    def appender(self, when_full: WhenFull = WhenFull.BLOCK, patience: float | None = None) -> ThreadAppender:
        """Raise an error, because entries that threads append cannot be encrypted.

        :raises bookkeeper_twisted.errors.IllegalOperationError: always.
        """
        raise IllegalOperationError(
            f"ledger {self.ledger_id} is encrypted, and entries of an appender would not be: use append or append_many"
        )


class EncryptedAdvLedgerWriter(_EncryptingWriter, AdvLedgerWriter):
    """The writer of an encrypted ledger whose entries are numbered by the caller."""

    __slots__ = ()


def writer_of(ledger: OpenLedger) -> LedgerWriter:
    """Return the writer of a new ``ledger``; it encrypts payloads if necessary."""
    return LedgerWriter(ledger) if ledger.cipher is None else EncryptedLedgerWriter(ledger)


def adv_writer_of(ledger: OpenLedger) -> AdvLedgerWriter:
    """Return the writer of a new ``ledger`` whose caller numbers the entries; it encrypts payloads if necessary."""
    return AdvLedgerWriter(ledger) if ledger.cipher is None else EncryptedAdvLedgerWriter(ledger)
