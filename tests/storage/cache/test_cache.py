"""The caches, against plain dictionaries."""

import tracemalloc

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.entries.entry_run import EntryRun
from bookkeeper_twisted.entries.mixed_runs import MixedRun
from bookkeeper_twisted.storage.cache import mixed_entries
from bookkeeper_twisted.storage.cache.mixed_entries import ENTRY_OVERHEAD
from bookkeeper_twisted.storage.cache.read_cache import ReadCache
from bookkeeper_twisted.storage.cache.run_list import RUN_OVERHEAD, RunList
from bookkeeper_twisted.storage.cache.write_cache import LARGE_RUN, LEDGER_OVERHEAD, SINGLE_BYTES, WriteCache

from ..entries import mixed, run, uneven

_RUNS = st.lists(
    st.tuples(st.integers(1, 2), st.integers(0, 30), st.lists(st.integers(0, 9), min_size=1, max_size=12)), max_size=12
)


def _made(drawn: list[tuple[int, int, list[int]]]) -> list[EntryRun]:
    """Runs that tell by their salt when they were added."""
    return [uneven(ledger, first, sizes, salt) for salt, (ledger, first, sizes) in enumerate(drawn)]


def _model(runs: list[EntryRun]) -> dict[tuple[int, int], bytes]:
    return {(r.ledger_id, r.first + i): e for r in runs for i, e in enumerate(r.entries())}


def _copy(chunk: MixedRun) -> MixedRun:
    """As from a socket: new objects."""
    return MixedRun(chunk.ledger_ids, chunk.entry_ids, chunk.lacs, [bytes(bytearray(e)) for e in chunk.entries])


def _joined(cache: WriteCache, max_bytes: int = 1 << 20, max_entries: int = 1 << 16) -> list[EntryRun]:
    """What is flushed by runs."""
    return [part for part in cache.parts(max_bytes, max_entries) if isinstance(part, EntryRun)]


def _single(cache: WriteCache) -> list[EntryRun]:
    """What is flushed by columns."""
    return [run for part in cache.parts() if not isinstance(part, EntryRun) for run in part.runs()]


def _left(cache: WriteCache) -> int:
    """Bytes that a cache that shrinks still holds."""
    runs = [each for held in cache._ledgers.values() for each in held.runs]
    return sum(each.size for each in runs) + sum(len(entry) + 4 for entry in cache._mixed._entries)


class RunListTests(SynchronousTestCase):
    """The runs of one ledger."""

    def test_append(self) -> None:
        """A run behind the last one is just appended, with or without a gap."""
        runs = RunList()
        for first in (5, 10, 30):
            added = run(1, first, 5)
            self.assertEqual(runs.insert(added), ((), (added,)))
        self.assertEqual(runs.firsts, [5, 10, 30])
        self.assertEqual(runs.last, 34)

    def test_insert_before(self) -> None:
        """A run in a gap, or before all others, takes its place and replaces nothing."""
        runs = RunList()
        for first in (20, 10, 0):
            gone, _ = runs.insert(run(1, first, 5))
            self.assertEqual([*gone], [])
        self.assertEqual(runs.firsts, [0, 10, 20])

    def test_overlaps(self) -> None:
        """Whether two runs share an entry."""
        runs = RunList()
        runs.insert(run(1, 10, 5))
        for first, count, expected in ((0, 10, False), (0, 11, True), (14, 1, True), (15, 3, False), (12, 1, True)):
            self.assertEqual(runs.overlaps(first, first + count - 1), expected, first)


class WriteCacheTests(SynchronousTestCase):
    """Insert, find, join."""

    @settings(max_examples=200)
    @given(_RUNS, st.integers(0, 4))
    def test_newest_wins(self, drawn: list[tuple[int, int, list[int]]], turns: int) -> None:
        """Every entry is found as it was added last; counts, ranges and the joined runs agree.

        :param turns: out of four runs so many come entry by entry.
        """
        cache, runs = WriteCache(), _made(drawn)
        for number, each in enumerate(runs):
            if number % 4 < turns:
                cache.add(mixed(each))
            else:
                cache.add(each)
        model = _model(runs)
        keys = [(ledger, entry_id) for ledger in (1, 2) for entry_id in range(50)]
        found = {key: hit.entry(key[1]) for key in keys if (hit := cache.find(*key)) is not None}
        self.assertEqual(found, model)
        self.assertEqual(cache.count, len(model))
        self.assertEqual(cache.bytes, sum(4 + len(e) for e in model.values()))
        joined, single = _model(_joined(cache)), _model(_single(cache))
        self.assertEqual(joined | single, model)
        self.assertEqual(len(joined) + len(single), len(model))
        self.assertEqual([[*joined], [*single]], [sorted(joined), sorted(single)])
        for ledger in (1, 2):
            ids = [e for owner, e in model if owner == ledger]
            self.assertEqual(cache.last_entry(ledger), max(ids, default=-1))
            self.assertEqual(sorted(e for a, b in cache.ranges(ledger) for e in range(a, b + 1)), sorted(ids))
            for entry_id in range(50):
                holds = any(each.overlaps(entry_id, entry_id) for each in cache.held(ledger))
                self.assertEqual(holds, entry_id in ids)

    @settings(max_examples=60)
    @given(_RUNS, _RUNS)
    def test_absorb(self, older: list[tuple[int, int, list[int]]], newer: list[tuple[int, int, list[int]]]) -> None:
        """Two write caches made one hold everything, the newer copies on top."""
        runs = _made(older + newer)
        caches = (WriteCache(), WriteCache())
        for number, each in enumerate(runs):
            cache = caches[number >= len(older)]
            if number % 3:
                cache.add(mixed(each))
            else:
                cache.add(each)
        caches[0].absorb(caches[1])
        self.assertEqual(_model(_joined(caches[0]) + _single(caches[0])), _model(runs))
        self.assertEqual(caches[0].count, len(_model(runs)))

    def test_join_interleaved(self) -> None:
        """Single entries of many ledgers in turns become one run a ledger, as runs if each has many."""
        for count, found, nothing in ((15, _single, _joined), (50, _joined, _single)):
            cache = WriteCache()
            for entry_id in range(count):
                cache.add(mixed(*[run(ledger, entry_id, 1) for ledger in (3, 1, 2)]))
            cache.add(mixed(run(2, count + 1)))
            runs = [(1, 0, count), (2, 0, count), (2, count + 1, 1), (3, 0, count)]
            self.assertEqual([(r.ledger_id, r.first, r.count) for r in found(cache)], runs)
            self.assertEqual(nothing(cache), [])

    def test_discarded_meanwhile(self) -> None:
        """Ledgers that go while the others are written take nothing else with them."""
        cache = WriteCache()
        cache.add(run(9, 0, 2))
        cache.add(mixed(*[run(ledger, 0) for ledger in range(1, 8)], run(8, 0, 100)))
        parts = cache.parts()
        written = [next(parts)]
        for ledger in range(1, 8):
            cache.discard_ledger(ledger)
        written += parts
        found = [each for part in written for each in ([part] if isinstance(part, EntryRun) else part.runs())]
        self.assertEqual(_model(found), _model([run(9, 0, 2), run(8, 0, 100)]))

    def test_gap(self) -> None:
        """Runs with a gap of one entry between them, or of the same entries of two ledgers, stay apart."""
        cache = WriteCache()
        for ledger_id, first, count in ((1, 0, 3), (1, 4, 2), (1, 6, 1), (2, 7, 1), (2, 9, 2)):
            cache.add(run(ledger_id, first, count))
        found = [(r.ledger_id, r.first, r.last) for r in _joined(cache)]
        self.assertEqual(found, [(1, 0, 2), (1, 4, 6), (2, 7, 7), (2, 9, 10)])
        cache.add(mixed(run(3, 1), run(4, 2), run(4, 4)))
        self.assertEqual([(r.ledger_id, r.first, r.last) for r in _single(cache)], [(3, 1, 1), (4, 2, 2), (4, 4, 4)])

    def test_single_entries_in_turn(self) -> None:
        """While single entries become runs other threads find them, in either."""
        cache = WriteCache()
        cache.add(run(1, 0, 2))
        cache.add(mixed(run(1, 3, 2)))
        held = cache._ledgers[1]
        seen = []

        class Watched(list[EntryRun]):
            def append(self, item: EntryRun) -> None:
                seen.append(cache.ranges(1))
                super().append(item)
                seen.append(cache.ranges(1))

        held.runs = Watched(held.runs)
        cache.add(run(1, 4, 2, salt=1))
        self.assertEqual([set(ranges) for ranges in seen[:2]], [{(0, 1), (3, 4)}] * 2)
        self.assertEqual(_model(_joined(cache)), _model([run(1, 0, 2), run(1, 3), run(1, 4, 2, salt=1)]))

    def test_join_limits(self) -> None:
        """Runs are joined up to the limits, not over gaps; a big one stays as it is."""
        cache = WriteCache()
        for first, count in ((0, 3), (3, 3), (6, 3), (10, 1), (11, 20)):
            cache.add(run(1, first, count))
        self.assertEqual([(r.first, r.count) for r in _joined(cache, 56 * 6)], [(0, 6), (6, 3), (10, 1), (11, 20)])
        self.assertEqual([r.count for r in _joined(cache, 1 << 20, 7)], [6, 3, 1, 20])

    def test_large_run(self) -> None:
        """A large run is written as it is, without a copy, although smaller ones before and behind it are joined."""
        cache, count = WriteCache(), LARGE_RUN // 5000 + 1
        large = [run(1, 6, count, 5000), run(1, 6 + count, count, 5000)]
        self.assertGreaterEqual(large[0].size, LARGE_RUN)
        for each in (run(1, 0, 3), run(1, 3, 3), *large, run(1, 6 + 2 * count, 1), run(1, 7 + 2 * count, 1)):
            cache.add(each)
        found = _joined(cache)
        self.assertEqual([r.count for r in found], [6, count, count, 2])
        self.assertEqual([each.data is kept.data for each, kept in zip(found[1:3], large, strict=True)], [True, True])

    def test_cost(self) -> None:
        """A run costs more than its bytes, so that many tiny ones meet the limit (S11)."""
        cache = WriteCache()
        self.assertFalse(cache)
        cache.add(run(1, 0, 2))
        cache.add(run(1, 2, 2))
        self.assertTrue(cache)
        self.assertEqual(cache.cost, LEDGER_OVERHEAD + 4 * 56 + 2 * RUN_OVERHEAD)
        cache.add(run(1, 0, 4))
        self.assertEqual(cache.cost, LEDGER_OVERHEAD + 4 * 56 + RUN_OVERHEAD)

    def test_cost_of_turns(self) -> None:
        """A single entry costs less than a run; entries that became runs cost both."""
        cache = WriteCache()
        cache.add(mixed(*[run(ledger, e) for e in range(64) for ledger in (1, 2)]))
        whole = 2 * mixed_entries.LEDGER_OVERHEAD + 128 * (56 + ENTRY_OVERHEAD)
        self.assertEqual(cache.cost, whole)
        cache.add(mixed(run(1, 64)))
        whole += 56 + ENTRY_OVERHEAD
        self.assertEqual(cache.cost, whole)
        cache.add(mixed(run(1, 5)))
        whole += 56 + ENTRY_OVERHEAD
        self.assertEqual(cache.cost, whole + LEDGER_OVERHEAD + 65 * 56 + 3 * RUN_OVERHEAD)

    def test_long_single_entries(self) -> None:
        """A run of one entry is not copied if it is long."""
        cache, long = WriteCache(), run(1, 0, 1, SINGLE_BYTES)
        cache.add(long)
        self.assertIs(cache.find(1, 0), long)
        self.assertEqual(_single(cache), [])

    def test_discard(self) -> None:
        """A ledger that is discarded leaves nothing behind, and comes back with what is added later alone."""
        cache = WriteCache()
        for turn in range(2):
            cache.add(run(1, 0, 3))
            cache.add(mixed(run(1, 5, 2), run(2, turn), run(1, 8)))
            self.assertEqual(cache.ranges(1), [(0, 2), (5, 6), (8, 8)])
            self.assertIsNotNone(cache.find(1, 8))
            cache.discard_ledger(1)
            self.assertEqual((cache.ranges(1), cache.held(1), cache.last_entry(1)), ([], [], -1))
            self.assertIsNone(cache.find(1, 8))
            self.assertEqual((cache.bytes, cache.count), (56 * (turn + 1), turn + 1))
            self.assertEqual([(each.ledger_id, each.last) for each in _single(cache)], [(2, turn)])
        cache.add(mixed(run(1, 7)))
        self.assertEqual(cache.ranges(1), [(7, 7)])
        self.assertEqual([(each.ledger_id, each.first, each.last) for each in _single(cache)], [(1, 7, 7), (2, 0, 1)])

    def test_outgoing(self) -> None:
        """A cache that is not needed any more goes twice as fast as the new one grows, whatever it holds."""
        for old_runs in ([run(1, 10 * i, 10) for i in range(40)], [run(i, 0) for i in range(400)]):
            cache, old = WriteCache(), WriteCache()
            old.add(mixed(*old_runs[:200]))
            for each in old_runs[200:]:
                old.add(each)
            cache.outgoing = old
            for entry_id in range(200):
                cache.add(run(7, entry_id))
                self.assertLessEqual(_left(old) + cache.bytes, 400 * 56)
            self.assertEqual((_left(old), cache.outgoing), (0, None))

    def test_memory_of_many_ledgers(self) -> None:
        """S11: what ten thousand ledgers take is not more than what is counted, however few entries each has."""
        for n_entries in (1, 3, 80):
            chunks = [
                mixed(*[run(ledger, e) for ledger in range(1000 * k, 1000 * (k + 1))])
                for k in range(10 if n_entries < 80 else 1)
                for e in range(n_entries)
            ]
            tracemalloc.start()
            cache = WriteCache()
            for chunk in chunks:
                cache.add(_copy(chunk))
            held, _ = tracemalloc.get_traced_memory()
            self.assertLessEqual(held, cache.cost, f"{n_entries} entries")
            unread = cache.cost
            for ledger_id in range(1000):
                cache.held(ledger_id)
            more = tracemalloc.get_traced_memory()[0] - held
            tracemalloc.stop()
            self.assertLessEqual(more, cache.cost - unread, f"{n_entries} entries of ledgers that are read")


class ReadCacheTests(SynchronousTestCase):
    """Bounded, the least recently used going first."""

    def cost(self, *runs: EntryRun) -> int:
        return sum(r.size + RUN_OVERHEAD for r in runs)

    def test_least_recently_used(self) -> None:
        """What was found lately stays."""
        runs = [run(ledger, 0, 10) for ledger in range(4)]
        cache = ReadCache(self.cost(*runs[:3]))
        for each in runs[:3]:
            cache.keep(each)
        self.assertIs(cache.find(0, 9), runs[0])
        cache.keep(runs[3])
        self.assertEqual([cache.find(i, 0) is not None for i in range(4)], [True, False, True, True])
        self.assertEqual((cache.cost, cache.n_entries), (self.cost(*runs[:3]), 30))
        self.assertEqual(len(cache), 3)

    def test_too_big(self) -> None:
        """A run bigger than the cache is not kept and drives nothing out."""
        cache = ReadCache(self.cost(run(1, 0, 10)))
        cache.keep(run(1, 0, 10))
        cache.keep(run(1, 20, 11))
        self.assertEqual((len(cache), cache.find(1, 20)), (1, None))
        nothing = ReadCache(0)
        nothing.keep(run(1, 0))
        self.assertIsNone(nothing.find(1, 0))

    def test_covered(self) -> None:
        """A run that is there already changes nothing."""
        cache, held = ReadCache(1 << 20), run(1, 0, 100)
        cache.keep(held)
        cache.keep(run(1, 10, 5))
        self.assertEqual(len(cache), 1)
        self.assertIs(cache.find(1, 12), held)

    def test_newer_copy(self) -> None:
        """A run that was written again is forgotten, its neighbours are not."""
        cache = ReadCache(1 << 20)
        for first in (0, 10, 20, 30):
            cache.keep(run(1, first, 10))
        cache.discard(run(1, 15, 10))
        self.assertEqual([cache.find(1, e) is not None for e in (9, 10, 19, 20, 29, 30)], [True, *[False] * 4, True])
        self.assertEqual(cache.n_entries, 20)
        cache.discard(mixed(run(2, 0), run(1, 39)))
        self.assertEqual([cache.find(1, e) is not None for e in (9, 30)], [True, False])
        cache.discard(run(2, 0, 10))
        cache.discard(run(1, 0, 40))
        self.assertEqual((len(cache), cache.cost), (0, 0))

    @settings(max_examples=60)
    @given(_RUNS, st.integers(0, 6000))
    def test_true_and_bounded(self, drawn: list[tuple[int, int, list[int]]], limit: int) -> None:
        """Whatever overlaps, what is found is the entry that was kept, and the limit holds."""
        cache, runs = ReadCache(limit), [uneven(ledger, first, [3] * len(sizes)) for ledger, first, sizes in drawn]
        model = _model(runs)
        for each in runs:
            cache.keep(each)
            self.assertLessEqual(cache.cost, limit)
        held = [r for runs_ in cache._ledgers.values() for r in runs_.runs]
        self.assertEqual(cache.cost, self.cost(*held))
        self.assertEqual(len(cache), len(held))
        for (ledger, entry_id), data in model.items():
            hit = cache.find(ledger, entry_id)
            if hit is not None:
                self.assertEqual(hit.entry(entry_id), data)
        if limit >= self.cost(*runs) * 2:
            self.assertEqual(_model(held), model)
