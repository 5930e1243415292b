"""Copying a part of a fragment to the bookies that lack entries of it, in a task, over blocking sockets.

Entries are read in batches from whichever replica has them whole, verified, and sent as they are stored.
"""

from collections.abc import Callable, Iterator, Mapping

import attrs

from ...codec.adds import scattered_adds, stored_adds
from ...codec.digest import Digester
from ...codec.operations import RECOVERY_ADD
from ...errors import BookKeeperError, NoSuchEntryError, ReadError
from ...ledger.schedule import schedule_of
from ...model import EntryRun
from ...wire import Address, ConnectionPool, CopyTargets, Fragment, FragmentReader, ReadLimits
from ...wire.adds import Load

MAX_UNREADABLE = 100
"""Entries of a part after which it is given up."""

Ranges = tuple[tuple[int, int], ...]
"""First and last ids, ascending."""


@attrs.frozen
class CopyPart:
    """Consecutive entries of a fragment of which some are lacking somewhere.

    :ivar number: of the fragment in its ledger.
    :ivar sources: where its entries are read.
    :ivar wanted: what each target gets, by the position whose entries it keeps.
    """

    number: int
    sources: Fragment
    wanted: Mapping[int, tuple[Address, Ranges]]


@attrs.define
class Copied:
    """What was done for one part.

    :ivar entries_of: sent to the target of a position.
    :ivar failed: why a target could not take entries, by position.
    :ivar unreadable: why no replica gave an entry, by its id.
    """

    entries_of: dict[int, int] = attrs.field(factory=dict)
    failed: dict[int, str] = attrs.field(factory=dict)
    unreadable: dict[int, str] = attrs.field(factory=dict)


class PartCopy:
    """Copies one part.

    :param spend: takes entries and bytes that were read or are to be written; returns when more may be.
    """

    def __init__(
        self, pool: ConnectionPool, part: CopyPart, digester: Digester, spend: Callable[[int, int], None],
        limits: ReadLimits,
    ) -> None:  # fmt: skip
        self._pool = pool
        self._part = part
        self._digester = digester
        self._spend = spend
        self._limits = limits
        self._targets = CopyTargets(pool, limits.max_frame_size)
        sources = part.sources
        self._schedule = schedule_of(len(sources.bookies), sources.write_quorum, 1)

    def run(self) -> Copied:
        """Copy everything that can be read to every target that takes it."""
        done = Copied()
        for run in self._runs(done):
            loads = list(self._loads(run, done))
            copies = sum(len(adds) * len(targets) for adds, targets in loads)
            self._spend(run.count + copies, run.size + sum(adds.offsets[-1] * len(targets) for adds, targets in loads))
            self._targets.write(loads)
            if len(self._targets.failed) == len({address for address, _ in self._part.wanted.values()}):
                break
        for position, (address, _) in self._part.wanted.items():
            if address in self._targets.failed:
                done.failed[position] = str(self._targets.failed[address])
        return done

    def _runs(self, done: Copied) -> Iterator[EntryRun]:
        """The entries that a replica has."""
        rest: Fragment | None = self._part.sources
        while rest is not None and len(done.unreadable) < MAX_UNREADABLE:
            at = rest.first
            try:
                for run in FragmentReader(self._pool, rest, self._digester, self._limits).runs():
                    at = run.last + 1
                    yield run
                return
            except (NoSuchEntryError, ReadError) as error:
                done.unreadable[at] = str(error)
            except BookKeeperError as error:
                done.unreadable[at] = str(error)
                return
            rest = attrs.evolve(rest, first=at + 1) if at < rest.last else None

    def _loads(self, run: EntryRun, done: Copied) -> Iterator[Load]:
        """What each target gets of some entries; the same bytes where it is all of them."""
        key, ledger_id = self._digester.master_key, run.ledger_id
        whole: list[Address] = []
        for position, (address, ranges) in self._part.wanted.items():
            ids = [n for n in _within(ranges, run.first, run.last) if self._schedule.keeps(position, n)]
            done.entries_of[position] = done.entries_of.get(position, 0) + len(ids)
            if len(ids) == run.count:
                whole.append(address)
            elif ids:
                entries = [run.entry(n) for n in ids]
                yield scattered_adds(key, ledger_id, ids, entries, RECOVERY_ADD), (address,)
        if whole:
            yield stored_adds(key, run, RECOVERY_ADD), whole


def _within(ranges: Ranges, first: int, last: int) -> Iterator[int]:
    for low, high in ranges:
        yield from range(max(low, first), min(high, last) + 1)
