"""One bookie in memory: its entries, and the faults set for it."""

from collections.abc import Callable

import attrs
from twisted.internet.defer import Deferred

from ..codec.connection import ServerDecoder
from ..codec.operations import RECOVERY_ADD
from ..codec.runs import AddRun
from ..entries.entry_run import EntryRun
from ..errors import BookieError, LedgerFencedError, NoSuchEntryError, NoSuchLedgerError, UnauthorizedAccessError
from ..model import INVALID_ENTRY_ID

_LAC_AT = slice(8, 16)
_ENTRY_LAC_AT = slice(16, 24)


@attrs.define
class Fault:
    """A fault of a bookie, which fails requests.

    :ivar operation: name of the method.
    :ivar error: makes the exception of each failed entry or request.
    :ivar first, last: entry ids that the fault applies to; a request without an entry id counts as entry -1.
    :ivar times: number of entries or requests that the fault still fails.
    """

    operation: str
    error: Callable[[], Exception]
    first: int = INVALID_ENTRY_ID
    last: int = 1 << 63
    times: int = 1 << 63

    def applies(self, operation: str, entry_id: int) -> bool:
        """Test whether the fault fails this request or entry."""
        return self.times > 0 and operation == self.operation and self.first <= entry_id <= self.last


@attrs.define
class MemoryBookie:
    """The entries of one bookie, and the switches that make it fail.

    :ivar up: False refuses connections.
    :ivar silent: True accepts requests and never answers, so that they time out.
    :ivar delay: seconds until an answer.
    :ivar forged: makes the answers of batch reads in the place of the true ones.
    :ivar requests: (operation, ledger, entry, count) of all requests, in order.
    :ivar waiting: the condition of each long poll under way.
    """

    entries: dict[int, dict[int, bytes]] = attrs.field(factory=dict)
    keys: dict[int, bytes] = attrs.field(factory=dict)
    fenced: set[int] = attrs.field(factory=set)
    explicit_lacs: dict[int, bytes] = attrs.field(factory=dict)
    faults: list[Fault] = attrs.field(factory=list)
    up: bool = True
    silent: bool = False
    delay: float = 0.0
    forged: Callable[[], EntryRun | None] | None = None
    requests: list[tuple[str, int, int, int]] = attrs.field(factory=list)
    waiting: dict[Deferred[None], Callable[[], bool]] = attrs.field(factory=dict)

    def fail(self, operation: str, error: Callable[[], Exception], **limits: int) -> Fault:
        """Add a fault and return it; ``limits`` are those of :class:`Fault`."""
        fault = Fault(operation, error, **limits)
        self.faults.append(fault)
        return fault

    def damage(self, ledger_id: int, entry_id: int) -> None:
        """Flip the last bit of a stored entry."""
        stored = self.entries[ledger_id][entry_id]
        self.entries[ledger_id][entry_id] = stored[:-1] + bytes((stored[-1] ^ 1,))

    def fault(self, operation: str, entry_id: int) -> Exception | None:
        """Return the error of the first fault that applies, and count this failure in the fault."""
        for fault in self.faults:
            if fault.applies(operation, entry_id):
                fault.times -= 1
                return fault.error()
        return None

    def check_key(self, ledger_id: int, master_key: bytes | None) -> None:
        """Check the master key of a ledger; the first key that is seen is stored.

        :raises UnauthorizedAccessError: it is not the key the ledger began with.
        """
        if not master_key or self.keys.setdefault(ledger_id, master_key) != master_key:
            raise UnauthorizedAccessError(ledger_id)

    def add_all(self, frames: bytes) -> list[Exception | None]:
        """Store the entries of adds of one wire version.

        :returns: why each was refused, None if it was not, in the order of the frames.
        """
        errors: list[Exception | None] = []
        for item in ServerDecoder().receive_all(frames):
            assert isinstance(item, AddRun), item
            for run in item.entries.runs():
                for entry_id, stored in enumerate(run.entries(), run.first):
                    errors.append(self._add_one(item, run.ledger_id, entry_id, stored))
        return errors

    def _add_one(self, adds: AddRun, ledger_id: int, entry_id: int, stored: bytes) -> Exception | None:
        error = self.fault("add", entry_id)
        try:
            if error is None:
                self.add(ledger_id, entry_id, stored, adds.master_key, adds.flags)
        except BookieError as refused:
            error = refused
        return error

    def add(self, ledger_id: int, entry_id: int, stored: bytes, master_key: bytes, flags: int) -> None:
        """Store an entry."""
        self.check_key(ledger_id, master_key)
        if ledger_id in self.fenced and not flags & RECOVERY_ADD:
            raise LedgerFencedError(ledger_id, entry_id)
        self.entries.setdefault(ledger_id, {})[entry_id] = stored
        self.wake()

    def fence(self, ledger_id: int, master_key: bytes | None) -> None:
        """Fence a ledger, which then accepts only recovery adds, and end the waits for its LAC."""
        self.check_key(ledger_id, master_key)
        self.fenced.add(ledger_id)
        self.wake()

    def lac(self, ledger_id: int) -> int:
        """Return the highest LAC of a ledger's entries and explicit LACs."""
        packets = [entry[_ENTRY_LAC_AT] for entry in self.entries.get(ledger_id, {}).values()]
        packets.append(self.explicit_lacs.get(ledger_id, b"")[_LAC_AT])
        return max([int.from_bytes(lac, "big", signed=True) for lac in packets if lac], default=INVALID_ENTRY_ID)

    def write_lac(self, ledger_id: int, body: bytes) -> None:
        """Store an explicit LAC packet if its LAC is higher than the stored LAC."""
        if body[_LAC_AT] > self.explicit_lacs.get(ledger_id, b"")[_LAC_AT]:
            self.explicit_lacs[ledger_id] = body
            self.wake()

    def wake(self) -> None:
        """End the long polls whose condition is met."""
        for news, ready in list(self.waiting.items()):
            if ready():
                news.callback(None)

    def get(self, ledger_id: int, entry_id: int) -> bytes:
        """Return an entry; entry id -1 stands for the last entry."""
        entries = self.entries.get(ledger_id)
        if entries is None:
            raise (NoSuchEntryError if ledger_id in self.keys else NoSuchLedgerError)(ledger_id, entry_id)
        wanted = max(entries) if entry_id == INVALID_ENTRY_ID else entry_id
        if wanted not in entries:
            raise NoSuchEntryError(ledger_id, entry_id)
        return entries[wanted]

    def batch(self, ledger_id: int, first: int, max_count: int, max_size: int) -> EntryRun:
        """Return consecutive entries: the first whatever its size, then those that fit."""
        stored = [self.get(ledger_id, first)]
        size = 36 + 4 + len(stored[0])
        held = self.entries[ledger_id]
        while (following := held.get(first + len(stored))) is not None:
            size += 4 + len(following)
            if len(stored) == max_count or size > max_size:
                break
            stored.append(following)
        return EntryRun.of_entries(ledger_id, first, stored)
