"""The writer of a ledger whose entries are numbered by the caller."""

import attrs
from twisted.internet.defer import Deferred, fail

from ...arguments import as_bytes, check_integer
from ...errors import DuplicateEntryIdError, IncorrectParameterError, TooManyRequestsError
from ..traces import APPEND
from .base_writer import BaseWriter
from .context import OpenLedger


@attrs.frozen
class _Later:
    data: bytes
    waiter: "Deferred[int]"


class AdvLedgerWriter(BaseWriter):
    """The writer of a ledger whose caller chooses the entry ids, and may write the entries in any order.

    Entries complete without a gap: while an id is missing, entries with higher ids wait.  Unlike Apache's client, this
    writer sends an entry only when :meth:`write` was called for all lower ids.  So the ledger length in the entry's
    header is the sum of the payloads up to this entry.  Apache's client counts payloads in the order of the calls, so
    a recovery may close the ledger with a wrong length.
    """

    __slots__ = ("_later", "_later_size")

    def __init__(self, ledger: OpenLedger) -> None:
        """:param ledger: an open ledger without another writer."""
        super().__init__(ledger)
        self._later: dict[int, _Later] = {}
        self._later_size = 0

    def write(self, entry_id: int, data: bytes | bytearray | memoryview) -> "Deferred[int]":
        """Write one entry.

        The entry is sent when this method was called for all lower ids.

        :param entry_id: id of the entry, >= 0.
        :param data: bytes, a bytearray or a memoryview; the caller may change it after this call.
        :returns: the id, once the entry and all entries before it have their ack quorum.
        :raises bookkeeper_twisted.errors.IncorrectParameterError: the id is negative or not an integer, the data are
            not bytes, or the data are too large for an entry.
        :raises bookkeeper_twisted.errors.DuplicateEntryIdError: an entry with this id was written before.
        :raises bookkeeper_twisted.errors.TooManyRequestsError: too many bytes are in flight or wait to be sent; or this
            entry would have to wait for a lower id, and too many bytes wait for lower ids already.
        :raises bookkeeper_twisted.errors.BookKeeperError: the writer accepts no more entries; the error says why.
        """
        try:
            check_integer("entry_id", entry_id)
            data = as_bytes("data", data)
        except IncorrectParameterError as error:
            return fail(error)
        size = len(data)
        if size > self._largest or self._quorum.in_flight + self._held_size > self._most_held:
            return self._refused(size)
        refusal = self._refusal_of(entry_id, size)
        if refusal is not None:
            return fail(refusal)
        waiter: Deferred[int] = Deferred()
        traces = self._traces
        if traces is not None and (begun := traces.begin(APPEND)) is not None:
            traces.follow(begun, self.ledger_id, entry_id, 1, waiter)
        if entry_id > self.last_add_pushed + 1:
            self._later[entry_id] = _Later(data, waiter)
            self._later_size += len(data) + self._overhead
        else:
            self._push(data, waiter)
            self._release()
        return waiter

    def _refusal_of(self, entry_id: int, size: int) -> Exception | None:
        if entry_id <= self.last_add_pushed or entry_id in self._later:
            return DuplicateEntryIdError(f"ledger {self.ledger_id}: entry {entry_id} was given before")
        if entry_id > self.last_add_pushed + 1 and self._later_size + size > self._max_in_flight:
            detail = f"{self._later_size} bytes wait for entry {self.last_add_pushed + 1}"
            return TooManyRequestsError(self.ledger_id, entry_id, detail=detail)
        return None

    def _release(self) -> None:
        """Append the waiting entries whose ids follow the last appended id without a gap."""
        while (later := self._later.pop(self.last_add_pushed + 1, None)) is not None:
            self._later_size -= len(later.data) + self._overhead
            self._push(later.data, later.waiter)

    def _drop_later(self, error: Exception) -> None:
        """Fail the entries that wait for a missing lower id."""
        later, self._later = self._later, {}
        self._later_size = 0
        for entry_id in sorted(later):
            later[entry_id].waiter.errback(error)
