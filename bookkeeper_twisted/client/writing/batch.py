"""A batch: the entries that one turn of the reactor appends to one or more ledgers, and the requests that send them.

Theory of operation.  Appended entries *join* the open batch of their batcher (:mod:`.batchers`).  At the end of the
turn the batcher *seals* the batch: it computes the headers and digests of the entries
(:mod:`~bookkeeper_twisted.codec.adds`).  Acknowledgements are counted for index sets
(:mod:`~bookkeeper_twisted.ledger.tally`): sets of entries as integers, in which bit ``n`` stands for the entry with
index ``n`` in the batch.  So no object is needed for an entry, except the Deferred of its caller.

The *owners* of a batch are the writers of its entries.  The batch tells them which entries have their ack quorum, and
which entries a bookie failed to store; only the owners complete entries (:mod:`.quorum_writer`).  The batch keeps the
add requests in memory until all its entries have completed or failed, so that a substitute bookie gets the same bytes.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import attrs
from twisted.internet.defer import Deferred

from ...codec.adds import Adds
from ...ledger.tally import AckTally, items_at, leading, set_of
from ..interfaces import IBookieClient
from ..traces import TracedAdds

COLUMNS = 5
"""Number of values for an entry in ``Batch.joined``: owner (writer), entry id, ledger length, payload, waiter."""

Waiter = Deferred[int] | None
"""A Deferred that fires with the entry id once the entry has completed; None if no caller waits for the entry."""

Owner = TypeVar("Owner")


@attrs.frozen(eq=False)
class BatchSettings(Generic[Owner]):
    """The settings that all batches of a batcher share.

    :ivar bookies: sends the requests to bookies.
    :ivar give_back: called when all entries of a batch have completed or failed, with their number of bytes.
    :ivar fresh: True if the entries were never sent to a bookie before; False for the entries of a recovery.
    :ivar overhead: size of an add request in bytes without the payload.
    :ivar reached: called with the batch, and the index set of the entries that have just got their ack quorum.
    :ivar failed: called with the batch, the id of a bookie, the index set of the entries that it failed to store,
        and the error.
    """

    bookies: IBookieClient
    give_back: Callable[[int], None]
    write_quorum: int
    ack_quorum: int
    fresh: bool
    overhead: int
    reached: "Callable[[Batch[Owner], int], None]"
    failed: "Callable[[Batch[Owner], str, int, Exception], None]"


class BatchRequest:
    """The add requests of a batch to one bookie; the object is called with the answers of the bookie.

    :ivar number: the number of this object in its batch, by which the tally identifies the bookie.
    :ivar indexes: the indexes of the entries in the batch.
    :ivar index_set: the same indexes as an index set.
    """

    __slots__ = ("number", "bookie_id", "indexes", "index_set", "_batch")

    def __init__(
        self, batch: "Batch[Any]", number: int, bookie_id: str, indexes: Sequence[int], index_set: int
    ) -> None:  # fmt: skip
        self.number = number
        self.bookie_id = bookie_id
        self.indexes = indexes
        self.index_set = index_set
        self._batch = batch

    def __call__(self, bookie_id: str, indexes: Sequence[int], error: Exception | None) -> None:
        kept = self.indexes
        index_set = self.index_set if len(indexes) == len(kept) else set_of(items_at(kept, indexes))
        if error is None:
            self._batch.acknowledged(self, index_set)
        else:
            self._batch.failed(self, index_set, error)


class Batch(Generic[Owner]):
    """Entries that writers append in one turn of the reactor, and the requests that add these entries to bookies.

    :ivar joined: the entries to send: a flat list with five values for each entry (:data:`COLUMNS`).  Empty after the
        batch was sent.
    :ivar size: total size of all add requests in bytes; set when the batch is sent.
    :ivar sent: whether the batch was sent.
    :ivar left: number of entries in flight: they have neither completed nor failed.
    :ivar adds: the add requests of the entries; None before they are made, and after all entries have completed or
        failed.
    :ivar only: the one writer of all entries; None if the entries belong to several writers, or if there is only one
        entry.
    :ivar owners: the owner (the writer) of each entry, by the entry's index in the batch.
    :ivar entry_ids: the id of each entry, by the same index.
    :ivar lengths: length of the ledger in bytes up to and including each entry, by the same index.
    :ivar everything: an integer in which the lowest bits are set, one for each entry of the batch.
    """

    __slots__ = (
        "joined", "size", "sent", "left", "adds", "only", "owners", "entry_ids", "lengths", "everything",
        "_settings", "_bookies", "_waiters", "_tally", "_requests", "_next", "_ended",
    )  # fmt: skip

    def __init__(self, settings: BatchSettings[Owner]) -> None:
        self.joined: list[Any] = []
        self.size = 0
        self.sent = False
        self.left = 0
        self.adds: Adds | None = None
        self.only: Owner | None = None
        self.owners: list[Owner]
        self.entry_ids: list[int]
        self.lengths: list[int]
        self.everything = 0
        self._settings = settings
        self._bookies: IBookieClient | TracedAdds = settings.bookies
        self._waiters: list[Waiter]
        self._tally: AckTally
        self._requests: list[BatchRequest] = []
        # For a batch whose entries all belong to one writer (``only``): the index of the first entry that has not
        # completed.  The entries of one writer complete in order, so one number is enough.
        self._next = 0
        self._ended = 0  # for any other batch: bit n is set if the entry with index n has completed or failed

    # ---- joining -------------------------------------------------------------------------------------

    def join_many(
        self, owner: Owner, entry_ids: Sequence[int], lengths: Sequence[int], payloads: Sequence[bytes], waiter: Waiter
    ) -> None:  # fmt: skip
        """Add entries of one ``owner`` (a writer) to this batch.

        :param lengths: for each entry, the length of the ledger in bytes up to and including this entry.
        :param waiter: a Deferred that fires once the last of these entries has completed; None if nobody waits.
        """
        rows: list[Any] = [owner, 0, 0, b"", None] * len(entry_ids)
        rows[1::COLUMNS] = entry_ids
        rows[2::COLUMNS] = lengths
        rows[3::COLUMNS] = payloads
        rows[-1] = waiter
        self.joined += rows

    def fill(self, owner: Owner, adds: Adds, lengths: Sequence[int], waiter: Waiter) -> None:
        """Fill this batch with entries of the writer ``owner`` whose add requests exist already.

        No other entries join this batch.

        :param lengths: for each entry, the length of the ledger in bytes up to and including this entry.
        :param waiter: a Deferred that fires once the last of these entries has completed; None if nobody waits.
        """
        self.adds = adds
        self.join_many(owner, adds.entry_ids, lengths, [b""] * len(adds), waiter)

    def drop(self, owner: Owner) -> list[Waiter]:
        """Remove the entries of the writer ``owner`` from a batch that was not sent yet.

        :returns: for each of these entries, in order, the Deferred of its caller; None if no caller waits for it.
        """
        joined, waiters, kept, size = self.joined, list[Waiter](), list[Any](), 0
        overhead = self._settings.overhead
        for at in range(0, len(joined), COLUMNS):
            row = joined[at : at + COLUMNS]
            if row[0] is owner:
                waiters.append(row[-1])
                size += overhead + len(row[3])
            else:
                kept += row
        self.joined = kept
        self._settings.give_back(size if self.adds is None else self.adds.offsets[-1])
        return waiters

    # ---- sending -------------------------------------------------------------------------------------

    def trace(self, bookies: TracedAdds) -> None:
        """Trace the add requests of this batch; call this before :meth:`send`.

        :param bookies: the object that sends the requests and makes their spans.
        """
        self._bookies = bookies

    def send(
        self, owners: list[Owner], entry_ids: list[int], lengths: list[int], waiters: list[Waiter], adds: Adds,
        kept: Mapping[str, Sequence[int]], of_one: bool,
    ) -> None:  # fmt: skip
        """Send each bookie the entries of the batch that it must store.

        All request objects are made before the first request is sent, because a bookie may answer immediately.

        :param owners: the owner (writer) of each entry; the other sequences are in the same order.
        :param adds: the add requests of the entries.
        :param kept: for each bookie id, the indexes in the batch of the entries that this bookie must store.
        :param of_one: whether all entries have the same owner.
        """
        self.owners, self.entry_ids, self.lengths, self._waiters = owners, entry_ids, lengths, waiters
        self.joined, self.sent, self.adds, self.size = [], True, adds, adds.offsets[-1]
        self.left = count = len(owners)
        if of_one and count > 1:
            self.only = owners[0]
        settings, self.everything = self._settings, (1 << count) - 1
        everything = self.everything
        sets = [everything if len(indexes) == count else set_of(indexes) for indexes in kept.values()]
        self._requests = requests = [
            BatchRequest(self, number, bookie_id, indexes, index_set)
            for number, ((bookie_id, indexes), index_set) in enumerate(zip(kept.items(), sets, strict=True))
        ]
        self._tally = tally = AckTally(settings.write_quorum, settings.ack_quorum)
        for request in requests[:]:  # iterate over a copy, because replacing a bookie during this loop adds requests
            if tally.replaced is None or not tally.is_replaced(request.number, request.index_set):
                some = adds if request.index_set == everything else adds.some(request.indexes)
                self._bookies.add(request.bookie_id, some, request, settings.fresh)

    # ---- answers -------------------------------------------------------------------------------------

    def acknowledged(self, request: BatchRequest, index_set: int) -> None:
        """Count a bookie's acknowledgement of entries; tell the writers which entries now have their ack quorum.

        :param request: the add requests of this batch to this bookie.
        :param index_set: the acknowledged entries, as a set of bits.
        """
        reached = self._tally.acknowledge(request.number, index_set)
        if reached:
            self._settings.reached(self, reached)

    def failed(self, request: BatchRequest, index_set: int, error: Exception) -> None:
        """Count the failure of a bookie to store some entries; report the ``error`` to the writers of these entries.

        :param request: the add requests of this batch to the failed bookie.
        :param index_set: the failed entries, as a set of bits.
        """
        index_set = self._tally.fail(request.number, index_set)
        if index_set:
            self._settings.failed(self, request.bookie_id, index_set, error)

    # ---- completion of entries -----------------------------------------------------------------------

    def sizes(self, indexes: Sequence[int]) -> Sequence[int]:
        """Return the size in bytes of each add request, for the entries with the given ``indexes`` in the batch.

        None of these entries may have completed or failed.
        """
        assert self.adds is not None
        return (self.size,) if len(self.owners) == 1 else self.adds.sizes(indexes)

    def size_of(self, indexes: Sequence[int]) -> int:
        """Return the total size in bytes of the add requests of the entries with the given ``indexes``.

        None of these entries may have completed or failed.
        """
        assert self.adds is not None
        if isinstance(indexes, range):
            return self.adds.offsets[indexes.stop] - self.adds.offsets[indexes.start]
        return sum(self.adds.sizes(indexes))

    def acked_next(self, owner: Owner) -> Sequence[int]:
        """Return the indexes of the entries of one writer that can complete now.

        These are the entries after the last completed one, before the first one that lacks its ack quorum.

        :param owner: the writer.
        """
        if self.adds is None or not self.sent:
            return ()
        acked = self._tally.reached
        if self.only is not None:
            return range(self._next, self._next + leading(acked, self._next))
        indexes = list[int]()
        for index in self.open_indexes(owner):
            if not acked >> index & 1:
                break
            indexes.append(index)
        return indexes

    @property
    def has_acked_later(self) -> bool:
        """Whether an entry has its ack quorum although an earlier entry lacks it; all entries must be of one writer."""
        return bool(self._tally.reached >> self._next)

    def take(self, indexes: Sequence[int]) -> tuple[Sequence[int], list[Waiter]]:
        """Mark the entries with the given ``indexes`` as completed; the caller must call :meth:`ended` next.

        :returns: the ids of these entries; and their Deferreds, the last one first, so that the caller can take the
            first one from the end of the list.
        """
        if self.only is not None:
            first, end = indexes[0], indexes[-1] + 1
            self._next = end
            waiters = self._waiters[first:end]
            waiters.reverse()
            return self.entry_ids[first:end], waiters
        if len(indexes) == len(self.owners):  # in the usual case all entries of a batch complete together
            waiters, self._waiters = self._waiters, []
            waiters.reverse()
            return self.entry_ids, waiters
        ids, taken = items_at(self.entry_ids, indexes), list(items_at(self._waiters, indexes))
        self._ended |= set_of(indexes)
        taken.reverse()
        for index in indexes:
            self._waiters[index] = None
        return ids, taken

    def ended(self, count: int) -> None:
        """Record that ``count`` more entries have completed or failed; after the last entry, free the add requests."""
        self.left -= count
        if not self.left:
            # free the memory now, because requests to slow bookies still refer to this batch
            self.adds, self._requests = None, []
            self._settings.give_back(self.size)

    def abandon(self, owner: Owner) -> list[Waiter]:
        """Remove the entries of the writer ``owner`` that have neither completed nor failed, because the writer ends.

        :returns: for each of these entries, in order, the Deferred of its caller; None if no caller waits for it.
        """
        if not self.sent:
            return self.drop(owner)
        indexes = self.open_indexes(owner) if self.left else ()
        if not indexes:
            return []
        _, waiters = self.take(indexes)
        waiters.reverse()
        self.ended(len(indexes))
        return waiters

    # ---- open entries, after the failure of a bookie -------------------------------------------------

    def open_indexes(self, owner: Owner) -> Sequence[int]:
        """Return the indexes of the entries of writer ``owner`` that have neither completed nor failed, ascending."""
        if self.only is not None:
            return range(self._next, len(self.owners))
        ended = self._ended
        return [index for index, each in enumerate(self.owners) if each is owner and not ended >> index & 1]

    def has_open(self, owner: Owner) -> bool:
        """Test whether the writer ``owner`` has an entry that has neither completed nor failed."""
        return bool(self.left) and bool(self.open_indexes(owner))

    def lacks_quorum(self, index_set: int) -> bool:
        """Test whether one or more of the given entries lack their ack quorum.

        :param index_set: the entries.
        """
        return bool(index_set & ~self._tally.reached)

    def unreachable(self, owner: Owner) -> int | None:
        """Return the id of the first entry of the writer ``owner`` that can no longer reach its ack quorum, or None."""
        lost = self._tally.unreachable if self.sent else 0
        return next((self.entry_ids[i] for i in self.open_indexes(owner) if lost >> i & 1), None) if lost else None

    def failed_bookies(self, owner: Owner) -> set[str]:
        """Return the ids of the bookies that failed to store an entry of the writer ``owner`` that is still in flight.
        """
        open_indexes = self.open_indexes(owner) if self.sent else ()
        index_set = set_of(open_indexes) if open_indexes else 0
        return {request.bookie_id for request in self._requests if self._tally.failed(request.number, index_set)}

    def replace(self, changes: Iterable[tuple[str, str, Sequence[int]]]) -> list[BatchRequest]:
        """Make new requests for some entries, either to new bookies or once more to the same bookies.

        From now on, answers to the earlier requests for these entries are ignored.

        :param changes: for each new request: the replaced bookie, its substitute, and the indexes of the entries to
            send.  None of these entries may have completed or failed.
        :returns: the new requests, which the caller must send by :meth:`ask_again`.
        """
        if not self.sent or self.adds is None:
            return []
        new = list[BatchRequest]()
        for replaced, bookie_id, indexes in changes:
            if indexes:
                index_set = set_of(indexes)
                self._take_back(replaced, index_set)
                new.append(BatchRequest(self, len(self._requests) + len(new), bookie_id, indexes, index_set))
        self._requests += new
        return new

    def ask_again(self, request: BatchRequest) -> None:
        """Send a ``request`` that :meth:`replace` returned, with the same bytes as before."""
        if self.adds is not None and not self._tally.is_replaced(request.number, request.index_set):
            self._bookies.add(request.bookie_id, self.adds.some(request.indexes), request, False)

    def _take_back(self, bookie_id: str, index_set: int) -> None:
        for request in self._requests:
            if request.bookie_id == bookie_id:
                self._tally.replace(request.number, index_set)
