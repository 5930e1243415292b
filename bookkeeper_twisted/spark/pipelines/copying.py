"""Copies entries of a fragment to the bookies that lack them, in a Spark task, over blocking sockets.

Entries are read in batches from any intact replica and verified.  They are sent unchanged, with their digest.  Which
entries a bookie gets is decided by the rules of replication workers (:mod:`...ledger.copy_plan`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

import attrs

from ...blocking_reads import Address, CopyTargets, Fragment, FragmentReader, ReadLimits, SocketPool
from ...blocking_reads.adds import Load
from ...codec.adds import ENTRY_AT, scattered_adds, stored_adds
from ...codec.digest import Digester
from ...codec.operations import RECOVERY_ADD
from ...entries.entry_run import EntryRun
from ...errors import BookKeeperError, NoSuchEntryError, ReadError
from ...ledger.copy_plan import CopyRun, copy_plan
from ...ledger.findings import ReplicaLoss
from ...ledger.fragments import LedgerFragment

MAX_UNREADABLE = 100
"""Number of unreadable entries after which the copying of a part of a fragment ends."""

READ_ALONG = 16
"""Maximum number of unneeded entries that are read between two needed ranges, to save a second request."""


@attrs.frozen
class LackingPart:
    """A part of a fragment (consecutive entries), some entries of which are missing or damaged on bookies.

    :ivar number: index of the fragment in its ledger.
    :ivar fragment: the fragment, cut to the entries of this part.
    :ivar losses: for each bookie that lacks entries, its index in the ensemble and the entries that it lacks.
    :ivar targets: maps the index in the ensemble of each such bookie to the bookie that receives copies of its entries.
    :ivar addresses: addresses of the bookies of the ensemble and of the bookies in ``targets``, by id.
    """

    number: int
    fragment: LedgerFragment
    losses: tuple[ReplicaLoss, ...]
    targets: Mapping[int, str]
    addresses: Mapping[str, Address]

    def plan(self, first: int, last: int) -> Iterator[CopyRun]:
        """Yield the entries that must be copied, as runs of consecutive entries to be copied to the same bookies.

        Only entries between ``first`` and ``last`` are yielded.

        :param first: id of the first entry.
        :param last: id of the last entry, inclusive.
        """
        return copy_plan(attrs.evolve(self.fragment, first=first, last=last), self.losses, self.targets)

    def reads(self) -> Iterator[Fragment]:
        """Yield the ranges of entries that must be read, because at least one bookie must receive copies of them."""
        fragment = self.fragment
        bookies = tuple(self.addresses[bookie_id] for bookie_id in fragment.ensemble)
        for first, last in _close(self.plan(fragment.first, fragment.last)):
            yield Fragment(fragment.ledger_id, first, last, bookies, fragment.schedule.write_quorum)


def _close(plan: Iterable[CopyRun]) -> Iterator[tuple[int, int]]:
    """Join runs (consecutive entries) that are separated by small gaps; yield first and last id of each joined range.
    """
    first = last = -1
    for run in plan:
        if first >= 0 and run.first > last + 1 + READ_ALONG:
            yield first, last
            first = -1
        first, last = (run.first if first < 0 else first), run.last
    if first >= 0:
        yield first, last


@attrs.define
class CopyResult:
    """The result of copying the entries of one :class:`LackingPart`.

    :ivar entries_of: the number of entries that were sent to each bookie to copy to, by its id.
    :ivar failed: the error of each bookie that did not store the copies, by its id.
    :ivar unreadable: the error for each entry that no replica returned, by entry id.
    """

    entries_of: dict[str, int] = attrs.field(factory=dict)
    failed: dict[str, str] = attrs.field(factory=dict)
    unreadable: dict[int, str] = attrs.field(factory=dict)


class LackingPartCopier:
    """Copies the entries of one part of a fragment to the bookies that lack them, or to their substitutes.

    :param spend: called after each read and before the writes of the copies, with two numbers: the entries, and the
        bytes, of the read and these writes together.  It blocks until the speed limit permits them.
    """

    def __init__(
        self, pool: SocketPool, part: LackingPart, digester: Digester, spend: Callable[[int, int], None],
        limits: ReadLimits,
    ) -> None:  # fmt: skip
        self._pool = pool
        self._part = part
        self._digester = digester
        self._spend = spend
        self._limits = limits
        self._targets = CopyTargets(pool, limits.max_frame_size)

    def run(self) -> CopyResult:
        """Copy all entries that can be read to every chosen bookie that accepts them."""
        done = CopyResult()
        for run in self._runs(done):
            loads = list(self._loads(run, done))
            self._pay(run, loads)
            self._targets.write(loads)
            if len(self._targets.failed) == len(self._part.targets):
                break
        done.failed = {address.bookie_id: str(error) for address, error in self._targets.failed.items()}
        return done

    def _pay(self, run: EntryRun, loads: Iterable[Load]) -> None:
        """Count the read of a ``run`` and the writes of ``loads``; wait until the speed limit permits them."""
        entries, n_bytes = run.count, run.size - 4 * run.count
        for adds, targets in loads:
            entries += len(adds) * len(targets)
            n_bytes += (adds.offsets[-1] - ENTRY_AT * len(adds)) * len(targets)
        self._spend(entries, n_bytes)

    def _runs(self, done: CopyResult) -> Iterator[EntryRun]:
        """Read the entries of the :class:`LackingPart` from any replica; yield them as runs (consecutive entries).

        Entries that no replica returns are recorded in ``done``.
        """
        for fragment in self._part.reads():
            rest: Fragment | None = fragment
            while rest is not None and len(done.unreadable) < MAX_UNREADABLE:
                at = rest.first
                try:
                    for run in FragmentReader(self._pool, rest, self._digester, self._limits, rest.ledger_id).runs():
                        at = run.last + 1
                        yield run
                    break
                except (NoSuchEntryError, ReadError) as error:
                    if any(self._part.plan(at, at)):  # ignore an unreadable entry that is not copied to any bookie
                        done.unreadable[at] = str(error)
                except BookKeeperError as error:
                    done.unreadable[at] = str(error)
                    return
                rest = attrs.evolve(rest, first=at + 1) if at < rest.last else None

    def _loads(self, run: EntryRun, done: CopyResult) -> Iterator[Load]:
        """Yield add requests for the entries of a ``run`` (consecutive entries), each with the bookies to send it to.

        Bookies that need all entries of the run get the same bytes object.
        """
        key, addresses = self._digester.master_key, self._part.addresses
        ids_of: dict[str, list[int]] = {}
        for one in self._part.plan(run.first, run.last):
            for target in one.targets:
                ids_of.setdefault(target, []).extend(range(one.first, one.last + 1))
        for target, ids in ids_of.items():
            done.entries_of[target] = done.entries_of.get(target, 0) + len(ids)
        whole = [addresses[target] for target, ids in ids_of.items() if len(ids) == run.count]
        if whole:
            yield stored_adds(key, run, RECOVERY_ADD), whole
        for target, ids in ids_of.items():
            if len(ids) < run.count:
                entries = [run.entry(n) for n in ids]
                yield scattered_adds(key, run.ledger_id, ids, entries, RECOVERY_ADD), (addresses[target],)
