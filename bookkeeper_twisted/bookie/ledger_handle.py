"""The state that a bookie keeps in memory for each ledger in use.

This state is the handle of the ledger; a ledger has at most one handle.  All decisions about the ledger are made on the
reactor thread, so the adds and fences of the ledger are processed in one serial order.  A handle is not closed while a
fence or a wait for a LAC is in progress.
"""

from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from hmac import compare_digest

from twisted.internet.defer import Deferred, fail
from twisted.internet.interfaces import IDelayedCall, IReactorTime

from ..entries.interfaces import Entries
from ..errors import TooManyRequestsError, UnauthorizedAccessError
from ..limits.attended_time import TOLERANCE
from ..storage.interfaces import ILedgerStorage, LedgerRow
from .group_commit import GroupCommit
from .records import key_record, lac_of_packet


class LedgerHandle:
    """The state that a bookie keeps in memory for one ledger while the ledger is in use.

    :ivar row: the stored state of the ledger: key, fence and explicit LAC; an empty state if the storage has none.
    :ivar known: whether the storage has a state of the ledger.
    :ivar adopts: whether the ledger has no key yet, so that the first key that a client sends becomes its key.
    :ivar key_journaled: whether the key is durable (in the index or in the journal), so that a restart finds it.
    :ivar accepts: the verified and durable master key: an add with this key is accepted without further checks.  None
        while there is no such key, so that every add must be checked.
    :ivar fencing: the Deferreds that wait for the fence record; None if no fence is in progress.
    :ivar last_add_confirmed: the highest LAC received so far.
    :ivar lac_learned: whether the last stored entry was read to learn the LAC that it contains.
    :ivar last_entry: the highest entry id known in memory.
    :ivar last_complete: True if ``last_entry`` is the highest id of all stored entries; False if there may be higher
        ids among the entries that were stored before this handle was opened.
    :ivar watches: the long polls that wait for a higher LAC: maps the function that ends a long poll to the LAC above
        which the long poll ends.
    """

    __slots__ = (
        "ledger_id", "row", "known", "commit", "adopts", "key_journaled", "accepts", "fencing",
        "last_add_confirmed", "lac_learned", "last_entry", "last_complete", "watches",
    )  # fmt: skip

    def __init__(self, ledger_id: int, row: LedgerRow | None, commit: GroupCommit) -> None:
        self.ledger_id = ledger_id
        self.row = row if row is not None else LedgerRow(ledger_id)
        self.known = row is not None
        self.commit = commit
        self.adopts = not self.row.master_key
        self.key_journaled = self.known
        self.accepts: bytes | None = None
        self.update_accepts()
        self.fencing: list[Deferred[None]] | None = None
        self.last_add_confirmed = lac_of_packet(self.row.explicit_lac)
        self.lac_learned = row is None
        self.last_entry = -1
        self.last_complete = row is None
        self.watches: dict[Callable[[bool], None], int] = {}

    @property
    def is_idle(self) -> bool:
        return self.fencing is None and not self.watches

    def authorize(self, master_key: bytes) -> None:
        """Check the master key of a request, by a comparison in constant time.

        A ledger that has no key yet (:attr:`adopts`) accepts any key.

        :raises UnauthorizedAccessError: the ledger has another key.
        """
        if not self.adopts and not compare_digest(master_key, self.row.master_key):
            raise UnauthorizedAccessError(self.ledger_id)

    def update_accepts(self) -> None:
        """Compute :attr:`accepts` anew after another field has changed."""
        plain = self.key_journaled and not self.adopts and not self.row.fenced
        self.accepts = self.row.master_key if plain else None

    def key_records(self) -> bytes:
        """Return the key record that the caller must write to the journal; no bytes if the journal has the key."""
        missing, self.key_journaled = not self.key_journaled, True
        self.update_accepts()
        return key_record(self.ledger_id, self.row.master_key) if missing else b""

    def advance_lac(self, lac: int) -> None:
        """Record a ``lac`` if it is the highest so far; end the long polls that wait for it."""
        if lac > self.last_add_confirmed:
            self.last_add_confirmed = lac
            if self.watches:
                self.wake([watch for watch, previous in self.watches.items() if previous < lac], True)

    def wake(self, watches: Sequence[Callable[[bool], None]] | None = None, advanced: bool = False) -> None:
        """End some long polls of this ledger, which wait for a higher LAC.

        :param watches: the functions that end these long polls; None ends all long polls of the ledger.
        :param advanced: whether the LAC has advanced.
        """
        for watch in watches if watches is not None else list(self.watches):
            if self.watches.pop(watch, None) is not None:
                watch(advanced)


def take_note(handles: Sequence[LedgerHandle], entries: Entries) -> None:
    """Record the highest entry ids and LACs of added ``entries`` in the handles of their ledgers.

    :param handles: the handles, one for each item of ``entries.entry_ids``.
    """
    for handle, entry_id, lac in zip(handles, entries.entry_ids, entries.lacs, strict=True):
        if entry_id > handle.last_entry:
            handle.last_entry = entry_id
        if lac > handle.last_add_confirmed:
            handle.advance_lac(lac)


class LedgerHandles:
    """The handles of the most recently used ledgers.

    To limit the memory, there is a maximum number of handles.  Above it, the least recently used handles are closed,
    except handles with a fence or a long poll in progress.
    """

    def __init__(self, storage: ILedgerStorage, commits: Sequence[GroupCommit], limit: int = 131_072) -> None:
        self._storage = storage
        self._commits = commits
        self._limit = limit
        self._handles: OrderedDict[int, LedgerHandle] = OrderedDict()

    def __len__(self) -> int:
        return len(self._handles)

    def get(self, ledger_id: int) -> LedgerHandle:
        """Return the handle of ``ledger_id``; open one if there is none, even for an unknown ledger."""
        handle = self._handles.get(ledger_id)
        if handle is None:
            return self._open(ledger_id, self._storage.ledger(ledger_id))
        self._handles.move_to_end(ledger_id)
        return handle

    def accepting(self, ledger_ids: Sequence[int], master_key: bytes) -> Sequence[LedgerHandle] | None:
        """Return the handles of several ledgers if all accept adds with ``master_key`` without further checks.

        :param ledger_ids: the ledger id of each entry; ids may repeat.
        :returns: one handle for each id; None if one of the ledgers needs checks.
        """
        handles: list[LedgerHandle] = []
        compared: bytes | None = None
        for handle in map(self._handles.get, ledger_ids):
            if handle is None or handle.accepts is None:
                return None
            # Ledgers with the same key share one bytes object.  If this handle has the same object as the previous one,
            # its bytes were already compared with the client's key.
            if handle.accepts is not compared:
                if not compare_digest(handle.accepts, master_key):
                    return None
                compared = handle.accepts
            handles.append(handle)
        deque(map(self._handles.move_to_end, ledger_ids), maxlen=0)
        return handles

    def peek(self, ledger_id: int) -> LedgerHandle | None:
        """Return the handle of ``ledger_id`` if it is in memory, without marking it as used."""
        return self._handles.get(ledger_id)

    def find(self, ledger_id: int) -> LedgerHandle | None:
        """Return the handle of ``ledger_id``, or None if this bookie does not know the ledger.

        No handle is opened for an unknown ledger.
        """
        handle = self._handles.get(ledger_id)
        if handle is None:
            row = self._storage.ledger(ledger_id)
            return None if row is None else self._open(ledger_id, row)
        return handle if handle.known else None

    def save(self, handle: LedgerHandle, row: LedgerRow) -> None:
        """Replace the state of a ledger, in memory immediately and on disk at the next checkpoint.

        :param row: the new state of the ledger.
        """
        self._storage.put_ledger(row)
        # Do not use ``row`` itself: in the storage, all ledgers with the same key share one bytes object, so a state
        # that was read back from the storage needs less memory.
        handle.row = self._storage.ledger(handle.ledger_id) or row
        handle.known = True
        handle.update_accepts()

    def forget(self, ledger_id: int) -> bool:
        """Close the handle of a deleted ledger, if there is one, and end its long polls.

        :returns: False if a fence of the ledger is in progress; then the handle is kept.
        """
        handle = self._handles.get(ledger_id)
        if handle is not None:
            if handle.fencing is not None:
                return False
            handle.wake()
            self._handles.pop(ledger_id, None)
        return True

    def _open(self, ledger_id: int, row: LedgerRow | None) -> LedgerHandle:
        commit = self._commits[ledger_id % len(self._commits)]
        handle = self._handles[ledger_id] = LedgerHandle(ledger_id, row, commit)
        if len(self._handles) > self._limit:
            self._trim()
        return handle

    def _trim(self) -> None:
        """Close the least recently used idle handles while too many are open; examine at most 64 handles."""
        for _ in range(64):
            if len(self._handles) <= self._limit:
                return
            ledger_id, handle = next(iter(self._handles.items()))
            if handle.is_idle:
                del self._handles[ledger_id]
            else:
                self._handles.move_to_end(ledger_id)


class LacWatches:
    """The long polls in progress, at most ``limit``; each waits until the LAC of its ledger advances.

    :param flush: sends the replies that were collected for the connections; called after a timeout.
    """

    def __init__(self, clock: IReactorTime, flush: Callable[[], None], limit: int = 10_000) -> None:
        self._clock = clock
        self._flush = flush
        self._limit = limit
        self._count = 0

    def wait(self, handle: LedgerHandle, previous_lac: int, timeout: float) -> "Deferred[float | None]":
        """Wait until the LAC of a ledger is above ``previous_lac``.

        The caller has checked that the LAC is not above ``previous_lac`` yet.

        :param timeout: maximum number of seconds to wait.
        :returns: fires with the time in ms at which the LAC rose, or with None if it did not (see
            :meth:`.IBookie.wait_lac`).
        """
        if self._count >= self._limit:
            return fail(TooManyRequestsError(handle.ledger_id))
        self._count += 1
        due = self._clock.seconds() + timeout
        timer: IDelayedCall

        def withdrawn(_: object) -> None:
            handle.watches.pop(woken, None)

        def woken(advanced: bool) -> None:
            result.callback(self._clock.seconds() * 1000 if advanced else None)

        def expired() -> None:
            nonlocal timer, due
            # The timer is late, because the reactor was busy.  Wait for one more reactor turn: an add that raises the
            # LAC may have arrived, but may not be processed yet.
            if self._clock.seconds() - due > TOLERANCE:
                due = self._clock.seconds()
                timer = self._clock.callLater(0, expired)
                return
            handle.watches.pop(woken, None)
            result.callback(None)
            self._flush()

        def ended(outcome: "float | None") -> "float | None":
            self._count -= 1
            if timer.active():
                timer.cancel()
            return outcome

        result: Deferred[float | None] = Deferred(withdrawn)
        timer = self._clock.callLater(timeout, expired)
        handle.watches[woken] = previous_lac
        return result.addBoth(ended)
