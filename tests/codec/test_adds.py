"""Adds by columns: the bytes that each entry alone would have been sent as, in either wire version."""

import struct
from collections.abc import Sequence
from itertools import accumulate, repeat

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.codec.adds import Adds, largest_payload, mix_headers, seal_adds, stored_adds
from bookkeeper_twisted.codec.connection import ServerDecoder
from bookkeeper_twisted.codec.digest import Digester, pack_headers
from bookkeeper_twisted.codec.operations import HIGH_PRIORITY, RECOVERY_ADD, V2Op
from bookkeeper_twisted.codec.runs import AddRun
from bookkeeper_twisted.codec.v2 import replies_out, requests_out
from bookkeeper_twisted.codec.wires import V2, V3
from bookkeeper_twisted.entries.entry_run import EntryRun
from bookkeeper_twisted.errors import CodecError, Status
from bookkeeper_twisted.model import DigestType
from bookkeeper_twisted.testing.sealing import sealed
from bookkeeper_twisted.testing.ungrouped import split_frames

_HEADER = struct.Struct(">qqqq")
LARGEST = (1 << 63) - 1
FLAGS = RECOVERY_ADD | HIGH_PRIORITY
LEDGER = 7
DIGESTER = Digester(DigestType.CRC32C, b"password")
SIZES = ([10] * 300, [0, 1, 300, 5], [20], [700] * 5, [700, 600, 900])
Item = tuple[int, int, int, int, bytes]
"""Ledger, entry, LAC, length with the payload, payload."""


def alone(digester: Digester, item: Item, flags: int = 0) -> bytes:
    """What is sent of an entry alone: header, digest and payload, encoded."""
    *fields, payload = item
    header = _HEADER.pack(*fields)
    run = EntryRun.of_entries(item[0], item[1], [header + digester.digest(header + payload) + payload])
    return requests_out.encode_adds(digester.master_key, run, flags)


def together(digester: Digester, items: Sequence[Item], flags: int = 0) -> Adds:
    """Entries of many ledgers, sealed together."""
    ledger_ids, entry_ids, confirmed, lengths, payloads = zip(*items, strict=True)
    headers = mix_headers(ledger_ids, entry_ids, confirmed, lengths)
    return seal_adds(digester, ledger_ids, entry_ids, headers, payloads, flags)


def items_of(*payloads: bytes) -> list[Item]:
    """Entries of ledgers that are at different ids and lengths."""
    return [(40 - n, 7 * n, 7 * n - 1, 1000 * n + len(payload), payload) for n, payload in enumerate(payloads)]


class SealTests(SynchronousTestCase):
    """Frames of every digest type."""

    def check(self, items: Sequence[Item], password: bytes = b"pw") -> None:
        """Frames and offsets are those of single entries."""
        for digest_type in DigestType:
            digester = Digester(digest_type, password)
            adds, expected = together(digester, items, FLAGS), [alone(digester, item, FLAGS) for item in items]
            self.assertEqual(split_frames(adds.frames), expected)
            bounds = zip(adds.offsets, adds.offsets[1:], strict=False)
            self.assertEqual([adds.frames[start:end] for start, end in bounds], expected)

    def test_one_size(self) -> None:
        """Payloads of one size."""
        self.check(items_of(*[b"%03d" % n for n in range(300)]))

    def test_mixed_sizes(self) -> None:
        """Payloads of different sizes, from one on; the size of the first is not that of the others."""
        self.check(items_of(*[bytes([n]) * (1 + n * n) for n in range(70)]))
        self.check(items_of(b"ab", b"c", b"de"))

    def test_empty(self) -> None:
        """Payloads without a byte, all or some."""
        self.check(items_of(b""))
        self.check(items_of(b"", b""))
        self.check(items_of(b"", b"a", b""))

    def test_large_numbers(self) -> None:
        """Ids and lengths up to the largest."""
        self.check([(LARGEST, LARGEST, LARGEST - 1, LARGEST, b"ab"), (0, 0, -1, 0, b""), (1 << 40, 1, 0, 1 << 50, b"")])

    def test_passwords(self) -> None:
        """The key of the ledgers is in each frame."""
        self.check(items_of(b"a", b"b"), b"")
        one, two = (together(Digester(DigestType.DUMMY, password), items_of(b"a", b"b")) for password in (b"1", b"2"))
        self.assertNotEqual(one.frames, two.frames)

    def test_one_ledger(self) -> None:
        """One ledger is a constant column: the same bytes as those of each entry alone."""
        for digest_type in DigestType:
            digester = Digester(digest_type, b"pw")
            for sizes in SIZES:
                payloads = [bytes([n & 255]) * size for n, size in enumerate(sizes)]
                headers = pack_headers(LEDGER, 90, 3, 1000, sizes)
                ids = (LEDGER,) * len(sizes), range(90, 90 + len(sizes))
                adds = seal_adds(digester, *ids, headers, payloads, FLAGS)
                items = zip(repeat(LEDGER), ids[1], repeat(3), accumulate([1000 + sizes[0], *sizes[1:]]), payloads)
                self.assertEqual(split_frames(adds.frames), [alone(digester, item, FLAGS) for item in items])

    @given(
        st.sampled_from(DigestType),
        st.lists(st.tuples(st.integers(0, LARGEST), st.integers(0, LARGEST), st.binary(max_size=9)), min_size=1),
    )
    def test_any(self, digest_type: DigestType, drawn: list[tuple[int, int, bytes]]) -> None:
        """Whatever the ids and sizes."""
        items = [(ledger_id, entry_id, entry_id - 1, entry_id // 2 + 9, data) for ledger_id, entry_id, data in drawn]
        digester = Digester(digest_type, b"pw")
        self.assertEqual(split_frames(together(digester, items).frames), [alone(digester, item) for item in items])


class SomeTests(SynchronousTestCase):
    """The adds with some indexes."""

    def check(self, items: list[Item]) -> None:
        """Ids, bytes and bounds are those of the indexes that are asked for, in order."""
        adds = together(DIGESTER, items)
        for indexes in ([0], [1, 3], [0, 1, 2], [2], range(1, 4), range(2, 3)):
            some, chosen = adds.some(indexes), [items[index] for index in indexes]
            self.assertEqual(list(some.ledger_ids), [item[0] for item in chosen])
            self.assertEqual(list(some.entry_ids), [item[1] for item in chosen])
            self.assertEqual(some.frames, b"".join([alone(DIGESTER, item) for item in chosen]))
            self.assertEqual([*some.offsets][-1], len(some.frames))
            self.assertEqual(list(adds.sizes(indexes)), [len(alone(DIGESTER, item)) for item in chosen])
            self.assertEqual(list(some.entries()), [alone(DIGESTER, item)[28:] for item in chosen])
        self.assertEqual(split_frames(adds.some([1, 2, 3]).some([0, 2]).frames), [
            alone(DIGESTER, items[index]) for index in (1, 3)
        ])  # fmt: skip

    def test_sizes(self) -> None:
        """Of one size, and of many."""
        self.check(items_of(b"a", b"b", b"c", b"d", b"e"))
        self.check(items_of(b"a", b"bc", b"", b"defg", b""))

    def test_deferred_sync(self) -> None:
        """Bookies acknowledge some as they acknowledge all."""
        for deferred_sync in (False, True):
            run = sealed(DIGESTER, 1, 0, -1, 0, [b"a", b"b", b"c", b"d"])
            adds = stored_adds(DIGESTER.master_key, run, 0, deferred_sync)
            for indexes in ([0], [1, 2], [0, 2], [0, 1, 2, 3]):
                self.assertIs(adds.some(indexes).deferred_sync, deferred_sync)

    def test_all(self) -> None:
        """All of them are what was sealed, and nothing is joined again."""
        adds = together(DIGESTER, items_of(b"a", b"b"))
        self.assertIs(adds.some([0, 1]), adds)


class RequestTests(SynchronousTestCase):
    """What a connection sends, as a bookie reads it."""

    def read(self, frames: bytes, run: EntryRun) -> tuple[list[int], set[bool]]:
        """Request ids and whether syncs are deferred, after the entries and all else have been checked."""
        txn_ids, deferred, entries = list[int](), set[bool](), list[bytes]()
        for item in ServerDecoder().receive_all(frames):
            assert isinstance(item, AddRun) and isinstance(item.entries, EntryRun)
            self.assertEqual((item.master_key, item.flags), (DIGESTER.master_key, FLAGS))
            self.assertEqual((item.entries.ledger_id, item.entries.first), (LEDGER, run.first + len(entries)))
            entries += item.entries.entries()
            txn_ids += item.txn_ids
            deferred.add(item.deferred_sync)
        self.assertEqual(entries, list(run.entries()))
        return txn_ids, deferred

    def run_of(self, sizes: list[int]) -> EntryRun:
        """Stored entries."""
        return sealed(DIGESTER, LEDGER, 90, 3, 1000, [bytes([i & 255]) * n for i, n in enumerate(sizes)])

    def test_v2(self) -> None:
        """V2 frames go out as they are."""
        for sizes in SIZES:
            run = self.run_of(sizes)
            adds = stored_adds(DIGESTER.master_key, run, FLAGS)
            self.assertEqual(V2.encode_adds(adds, 0)[0], requests_out.encode_adds(DIGESTER.master_key, run, FLAGS))
            self.assertIs(V2.encode_adds(adds, 0)[0], adds.frames)
            self.assertEqual(len(adds), run.count)

    def test_v3(self) -> None:
        """V3 frames get the numbers of each attempt, which change nothing for another."""
        for sizes in SIZES:
            run = self.run_of(sizes)
            for deferred in (False, True):
                adds = stored_adds(DIGESTER.master_key, run, FLAGS & ~RECOVERY_ADD if deferred else FLAGS, deferred)
                for first in (5 << 32, (9 << 32) + 100):
                    frames = V3.encode_adds(adds, first)[0]
                    if not deferred:
                        self.assertEqual(self.read(frames, run), (list(range(first, first + run.count)), {False}))
                    else:
                        (item, *_) = ServerDecoder().receive(frames)
                        assert isinstance(item, AddRun)
                        self.assertTrue(item.deferred_sync)

    def test_v3_of_many_ledgers(self) -> None:
        """Over V3, too, adds of many ledgers arrive with their ids and bytes, numbered in their order."""
        items = items_of(*[b"x" * (n % 3) for n in range(20)])
        adds, read = together(DIGESTER, items), list[tuple[int, int, bytes]]()
        txn_ids = list[int]()
        for item in ServerDecoder().receive_all(V3.encode_adds(adds, 1000)[0]):
            assert isinstance(item, AddRun)
            txn_ids += item.txn_ids
            read += [(run.ledger_id, run.first, run.entry(run.first)) for run in item.entries.runs()]
        self.assertEqual(read, [(one[0], one[1], alone(DIGESTER, one)[28:]) for one in items])
        self.assertEqual(txn_ids, list(range(1000, 1020)))

    def test_refused(self) -> None:
        """V2 cannot say deferred sync, and carries keys of 20 bytes only."""
        run = self.run_of([1])
        for attempt in (
            lambda: V2.encode_adds(stored_adds(DIGESTER.master_key, run, deferred_sync=True), 0),
            lambda: stored_adds(b"short", run),
        ):
            self.assertRaises(CodecError, attempt)


class ReplyTests(SynchronousTestCase):
    """The replies that confirm adds."""

    def test_replies(self) -> None:
        """They are what a bookie sends that has done all of them, one by one or of many ledgers."""
        for count in (1, 2, 30):
            items = items_of(*[b"x"] * count)
            expected = [replies_out.ids_reply(2, V2Op.ADD, Status.EOK, item[0], item[1]) for item in items]
            adds = together(DIGESTER, items)
            self.assertEqual(V2.encode_adds(adds, 0)[1], b"".join(expected))

    def test_largest_payload(self) -> None:
        """The largest payload makes a frame of less than the limit in either version, whatever the ids."""
        digester = Digester(DigestType.HMAC, b"")
        payload = bytes(largest_payload(4096, digester.size))
        adds = together(digester, [(LARGEST, LARGEST, LARGEST - 1, LARGEST, payload)], FLAGS)
        self.assertLess(len(adds.frames), 4096)
        self.assertLess(len(V3.encode_adds(adds, LARGEST)[0]), 4096)
