"""One bookie in memory: its entries, and the faults that a test has set."""

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
    """A fault that makes requests to a bookie fail.

    :ivar operation: name of the client's method whose requests fail, such as ``read``.
    :ivar error: a function that makes the exception for each failed entry or request.
    :ivar first, last: first and last id of the entries for which requests fail.  A request without an entry id counts
        as a request for entry -1.
    :ivar times: number of entries or requests that will fail; each failure reduces it by one.
    """

    operation: str
    error: Callable[[], Exception]
    first: int = INVALID_ENTRY_ID
    last: int = 1 << 63
    times: int = 1 << 63

    def applies(self, operation: str, entry_id: int) -> bool:
        """Test whether the fault makes a request fail.

        :param operation: name of the client's method that makes the request.
        :param entry_id: id of the requested entry.
        """
        return self.times > 0 and operation == self.operation and self.first <= entry_id <= self.last


@attrs.define
class MemoryBookie:
    """One bookie in memory, with attributes that make it fail.

    :ivar up: if False, the bookie refuses connections.
    :ivar silent: if True, the bookie never answers, so that requests time out.
    :ivar delay: seconds between a request and its answer.
    :ivar forged: if set, a function that makes the entries that batch reads return instead of the stored ones.
    :ivar requests: operation, ledger id, entry id and count of each request so far.
    :ivar waiting: the long polls in progress; each has a function that tests whether the condition for its end is met.
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
        """Make requests fail: add a fault and return it; ``limits`` are the other attributes of the :class:`Fault`."""
        fault = Fault(operation, error, **limits)
        self.faults.append(fault)
        return fault

    def damage(self, ledger_id: int, entry_id: int) -> None:
        """Flip the last bit of a stored entry."""
        stored = self.entries[ledger_id][entry_id]
        self.entries[ledger_id][entry_id] = stored[:-1] + bytes((stored[-1] ^ 1,))

    def fault(self, operation: str, entry_id: int) -> Exception | None:
        """Return the error of the first fault that applies to a request; None if none applies.

        This reduces the fault's ``times`` by one.
        """
        for fault in self.faults:
            if fault.applies(operation, entry_id):
                fault.times -= 1
                return fault.error()
        return None

    def check_key(self, ledger_id: int, master_key: bytes | None) -> None:
        """Check the master key of a ledger; the first key that is used for a ledger becomes its master key.

        :raises UnauthorizedAccessError: the key is missing, or is not the master key of the ledger.
        """
        if not master_key or self.keys.setdefault(ledger_id, master_key) != master_key:
            raise UnauthorizedAccessError(ledger_id)

    def add_all(self, frames: bytes) -> list[Exception | None]:
        """Store the entries of encoded add requests.

        :returns: one item for each entry, in order: the error if the entry was refused, otherwise None.
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
        """Store an entry, if the master key is right; a fenced ledger accepts only adds of a recovery."""
        self.check_key(ledger_id, master_key)
        if ledger_id in self.fenced and not flags & RECOVERY_ADD:
            raise LedgerFencedError(ledger_id, entry_id)
        self.entries.setdefault(ledger_id, {})[entry_id] = stored
        self.wake()

    def fence(self, ledger_id: int, master_key: bytes | None) -> None:
        """Fence a ledger, so that it accepts only adds of a recovery; end the long polls of this ledger."""
        self.check_key(ledger_id, master_key)
        self.fenced.add(ledger_id)
        self.wake()

    def lac(self, ledger_id: int) -> int:
        """Return the LAC of a ledger: the highest LAC in its entries, or its explicit LAC if that is higher."""
        packets = [entry[_ENTRY_LAC_AT] for entry in self.entries.get(ledger_id, {}).values()]
        packets.append(self.explicit_lacs.get(ledger_id, b"")[_LAC_AT])
        return max([int.from_bytes(lac, "big", signed=True) for lac in packets if lac], default=INVALID_ENTRY_ID)

    def write_lac(self, ledger_id: int, body: bytes) -> None:
        """Store the packet of an explicit LAC, unless the stored packet has the same or a higher LAC."""
        if body[_LAC_AT] > self.explicit_lacs.get(ledger_id, b"")[_LAC_AT]:
            self.explicit_lacs[ledger_id] = body
            self.wake()

    def wake(self) -> None:
        """End those long polls whose condition is met now."""
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
        """Return consecutive entries from id ``first`` on: at least one, and as many as the limits allow."""
        stored = [self.get(ledger_id, first)]
        size = 36 + 4 + len(stored[0])
        held = self.entries[ledger_id]
        while (following := held.get(first + len(stored))) is not None:
            size += 4 + len(following)
            if len(stored) == max_count or size > max_size:
                break
            stored.append(following)
        return EntryRun.of_entries(ledger_id, first, stored)
