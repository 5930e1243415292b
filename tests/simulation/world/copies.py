"""The copies of entries that a bookie was given, and whether it answers reads with the newest one."""

import attrs

from bookkeeper_twisted.entries.entry_run import EntryRun

_Key = tuple[int, int]


@attrs.define(eq=False)
class _Copy:
    """Times are counts of what happened; ``acknowledged`` is 0 while it is not."""

    data: bytes
    begun: int
    acknowledged: int = 0


class StoredCopies:
    """What one bookie was asked to add, in all its lives.

    Adds that overlap in time may be applied in any order.  A copy is too old once another one was acknowledged whose
    add had begun after the acknowledgement of this one.
    """

    def __init__(self) -> None:
        self._now = 0
        self._copies: dict[_Key, list[_Copy]] = {}

    def begin(self) -> int:
        """Return the present time, when a read begins."""
        self._now += 1
        return self._now

    def adding(self, run: EntryRun) -> None:
        """An add of a ``run`` begins."""
        now = self.begin()
        for entry_id, data in enumerate(run.entries(), run.first):
            self._copies.setdefault((run.ledger_id, entry_id), []).append(_Copy(bytes(data), now))

    def acknowledged(self, run: EntryRun) -> None:
        """The add of a ``run`` has succeeded."""
        now = self.begin()
        for entry_id, data in enumerate(run.entries(), run.first):
            for copy in self._copies.get((run.ledger_id, entry_id), ()):
                if copy.data == data and not copy.acknowledged:
                    copy.acknowledged = now

    def forget(self, ledger_id: int) -> None:
        """The bookie has deleted a ledger."""
        for key in [key for key in self._copies if key[0] == ledger_id]:
            del self._copies[key]

    def is_old(self, ledger_id: int, entry_id: int, data: bytes, began: int) -> bool:
        """Test whether the ``data`` of an entry are a copy that was too old when the read of it ``began``."""
        copies = self._copies.get((ledger_id, entry_id), ())
        given = [copy.acknowledged for copy in copies if copy.data == data]
        if not given or not all(given):
            return False
        return any(copy.begun > max(given) and 0 < copy.acknowledged < began for copy in copies)
