"""Read-ahead: chooses how many bytes to load from disk for a read, and records the loads in progress."""

from collections import OrderedDict

import attrs
from twisted.internet.defer import Deferred

from ..interfaces import ReadTimes

FIRST_WINDOW = 16 * 1024
LAST_WINDOW = 1024 * 1024
_GROWTH = 4


class SequentialReads:
    """Recognizes clients that read a ledger in order; for them, one disk read loads more bytes.

    A load is one read of consecutive entries from disk.  An object of this class remembers the last entry of each
    recent load.  A later load that begins right after a remembered entry is sequential.  It reads four times as many
    bytes as the load before it, but at most :data:`LAST_WINDOW`.

    :param limit: maximum number of loads that are remembered, to limit the memory.
    """

    __slots__ = ("_windows", "_limit")

    def __init__(self, limit: int = 4096) -> None:
        self._limit = limit
        self._windows: OrderedDict[tuple[int, int], int] = OrderedDict()

    def window(self, ledger_id: int, entry_id: int) -> int:
        """Return how many bytes of ``ledger_id`` to read from disk, from the entry ``entry_id`` onwards."""
        return self._windows.get((ledger_id, entry_id), FIRST_WINDOW)

    def passed(self, ledger_id: int, entry_id: int, last: int) -> None:
        """Record that entries of ``ledger_id`` were read from memory, so that a load after them counts as sequential.

        :param entry_id: the first of these entries.
        :param last: the last of these entries.
        """
        window = self._windows.pop((ledger_id, entry_id), 0)
        if window:
            self._windows[ledger_id, last + 1] = window

    def loaded(self, ledger_id: int, entry_id: int, last: int) -> None:
        """Record that a load of ``ledger_id`` has read the entries from ``entry_id`` to ``last`` (inclusive)."""
        window = self._windows.pop((ledger_id, entry_id), FIRST_WINDOW)
        self._windows[ledger_id, last + 1] = min(window * _GROWTH, LAST_WINDOW)
        if len(self._windows) > self._limit:
            self._windows.popitem(last=False)


@attrs.define(eq=False)
class Load:
    """One read of consecutive entries from disk, while it is in progress.

    :ivar first: id of the first entry.
    :ivar end: id of the last entry that the load is expected to return, plus 1.
    :ivar times: its times, as soon as it has ended.
    :ivar waiting: the Deferreds of other reads, which wait for the end of this load.
    """

    ledger_id: int
    first: int
    end: int
    times: ReadTimes = attrs.field(factory=ReadTimes)
    waiting: "list[Deferred[ReadTimes]]" = attrs.field(factory=list)


class LoadsUnderWay:
    """The loads (reads from disk) in progress.

    A read of an entry that is already being loaded can wait for the end of this load, instead of loading the entry
    again.  This happens if a client sends several batch reads at a time: a later batch read often requests entries that
    an earlier batch read is loading.
    """

    def __init__(self, limit: int = 4096) -> None:
        """:param limit: maximum number of ledgers whose mean entry size is remembered, to limit the memory."""
        self._limit = limit
        self._loads: dict[int, list[Load]] = {}
        self._sizes: OrderedDict[int, int] = OrderedDict()

    def covering(self, ledger_id: int, entry_id: int) -> "Deferred[ReadTimes] | None":
        """Return a Deferred for the end of a load in progress that probably includes an entry.

        :param entry_id: id of the entry in ``ledger_id``.
        :returns: the Deferred, which fires with the times of the load; None if no load in progress seems to include
            the entry.
        """
        for load in self._loads.get(ledger_id, ()):
            if load.first <= entry_id < load.end:
                waiter: Deferred[ReadTimes] = Deferred()
                load.waiting.append(waiter)
                return waiter
        return None

    def begin(self, ledger_id: int, entry_id: int, n_bytes: int) -> Load:
        """Record that a load (a read of consecutive entries from disk) begins.

        The id of its last entry is estimated from the mean size of the ledger's entries that were loaded before.

        :param entry_id: id of the first entry of the load.
        :param n_bytes: bytes to load.
        :returns: the load, to be passed to :meth:`end`.
        """
        size = self._sizes.get(ledger_id, n_bytes)
        load = Load(ledger_id, entry_id, entry_id + max(1, n_bytes // size))
        self._loads.setdefault(ledger_id, []).append(load)
        return load

    def end(self, load: Load, entry_size: int = 0) -> None:
        """Remove a completed load, and fire the Deferreds that wait for it.

        :param entry_size: mean size in bytes of the entries that the load returned, 0 if it returned none.
        """
        loads = self._loads[load.ledger_id]
        loads.remove(load)
        if not loads:
            del self._loads[load.ledger_id]
        if entry_size:
            self._sizes[load.ledger_id] = entry_size
            self._sizes.move_to_end(load.ledger_id)
            if len(self._sizes) > self._limit:
                self._sizes.popitem(last=False)
        for waiter in load.waiting:
            waiter.callback(load.times)
