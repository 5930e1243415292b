"""How much a batch reply holds, in both protocols: several runs, and replies filled to the limits of a frame."""

from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.bookie.engine import EngineOptions
from bookkeeper_twisted.bookie.requests.context import RequestLimits
from bookkeeper_twisted.codec.connection import ClientDecoder
from bookkeeper_twisted.codec.runs import BatchRead, BatchReply
from bookkeeper_twisted.codec.v2 import requests_out as v2_requests_out
from bookkeeper_twisted.codec.v3 import requests_out as v3_requests_out
from bookkeeper_twisted.codec.wires import V3
from bookkeeper_twisted.entries.entry_run import EntryRun
from bookkeeper_twisted.errors import Status
from tests.wires import WIRES

from ..rig import Rig, entry

_PROFILE = settings(max_examples=80)
FRAME = 4096
HEADER_ROOM = {2: 36, 3: 512}
PER_ENTRY = {2: 4, 3: 8}
_MAX_ID = (1 << 63) - 1


def filled(sizes: Sequence[int], count: int, size: int) -> int:
    """How many entries of these sizes a V3 reply holds, entry by entry: one at least, each costs eight bytes more."""
    taken, used = 1, sizes[0] + 8
    for following in sizes[1:]:
        used += following + 8
        if used > size or 0 < count <= taken:
            break
        taken += 1
    return taken


class ReplyCase(SynchronousTestCase):
    """A bookie with a small frame."""

    def setUp(self) -> None:
        self.rig = self._rig()

    def _rig(self) -> Rig:
        return Rig(options=EngineOptions(requests=RequestLimits(max_frame_size=FRAME, max_batch_read_size=1 << 20)))

    def _add(
        self, rig: Rig, ledger_id: int, first: int, entries: list[bytes], cuts: Iterable[int], flushes: Collection[int]
    ) -> None:
        """Add entries in runs cut at these places; those flushed stay apart from the next ones."""
        for start, end in pairwise([0, *sorted(cut for cut in cuts if cut < len(entries)), len(entries)]):
            rig.add(EntryRun.of_entries(ledger_id, first + start, entries[start:end]))
            rig.drain()
            if start in flushes:
                rig.engine.checkpointer.checkpoint()
                rig.drain()

    def ask(self, rig: Rig, wire: int, ledger_id: int, first: int, count: int, size: int) -> tuple[list[bytes], int]:
        """The entries of a reply, and its bytes on the wire."""
        peer = rig.connect()
        batch = BatchRead(WIRES[wire], wire, 0, ledger_id, first, _MAX_ID, count, size)
        peer.send((v2_requests_out if wire == 2 else v3_requests_out).encode_batch_read(batch))
        rig.drain()
        data = peer.replies()
        (reply,) = ClientDecoder(WIRES[wire], max(len(data), FRAME)).receive(data)
        assert isinstance(reply, BatchReply) and reply.entries is not None
        self.assertEqual((reply.status, reply.request_id, reply.max_lac is None), (Status.EOK, _MAX_ID, wire == 2))
        return list(reply.entries.entries()), len(data)


class RuleTests(ReplyCase):
    """The rules of V3, entry by entry."""

    @_PROFILE
    @given(
        sizes=st.lists(st.integers(0, 300), min_size=1, max_size=30), cuts=st.sets(st.integers(1, 29)),
        flushes=st.sets(st.integers(0, 30)), first=st.integers(0, 29), count=st.integers(-1, 40),
        size=st.integers(-1, 6000),
    )  # fmt: skip
    def test_any_runs(
        self, sizes: list[int], cuts: set[int], flushes: set[int], first: int, count: int, size: int
    ) -> None:
        """However the entries are cut into runs, in memory or flushed, a V3 reply holds what its rules say."""
        rig = self._rig()
        entries = [entry(3, i, bytes([i]) * n) for i, n in enumerate(sizes)]
        first %= len(entries)
        self._add(rig, 3, 0, entries, cuts, flushes)
        found, length = self.ask(rig, 3, 3, first, count, size)
        wanted = filled(list(map(len, entries[first:])), count, min(size, FRAME - HEADER_ROOM[3]))
        self.assertEqual(found, entries[first : first + wanted])
        self.assertLessEqual(length, FRAME)

    def test_many_runs(self) -> None:
        """A reply of many runs ends at the count and at the size that were asked for, each by its own."""
        rig = self._rig()
        entries = [entry(3, i, bytes([i]) * (20 + i % 2)) for i in range(30)]
        self._add(rig, 3, 0, entries, range(2, 30, 2), range(0, 26, 2))
        sizes = list(map(len, entries))
        for count in range(1, 31):
            self.assertEqual(len(self.ask(rig, 3, 3, 0, count, 1 << 20)[0]), count)
        for size in range(0, 1900, 7):
            self.assertEqual(len(self.ask(rig, 3, 3, 0, 0, size)[0]), filled(sizes, 0, size), size)


class FrameTests(ReplyCase):
    """Replies that are as long as a frame may be."""

    def _fill(self, wire: int, size: int, uneven: bool) -> None:
        """Add entries of a size to a ledger, at ids whose varints are the longest, and read as many as there can be."""
        rig, first = self._rig(), _MAX_ID - 90
        sizes = [size + uneven * (i % 2) for i in range(80)]
        entries = [entry(_MAX_ID, first + i, bytes(n - 32), first) for i, n in enumerate(sizes)]
        self._add(rig, _MAX_ID, first, entries, range(3, 80, 7), range(10, 80, 14))
        found, length = self.ask(rig, wire, _MAX_ID, first, 0, 1 << 30)
        self.assertLessEqual(length, FRAME)
        self.assertEqual(found, entries[: len(found)])
        more = sum(len(each) + PER_ENTRY[wire] for each in entries[: len(found) + 1]) + HEADER_ROOM[wire]
        self.assertGreater(more, FRAME, "another entry would have fitted")

    def test_full_frames(self) -> None:
        """A reply is no longer than a frame, whatever size its entries have, and no shorter than it has to be."""
        for wire in (2, 3):
            for size in (60, 61, 100, 257, 500, 1012, 1016, 1188, 1340, 1354, 1780, 1792, *range(2004, 2042, 2), 3500):
                for uneven in (False, wire == 3):
                    with self.subTest(wire=wire, size=size, uneven=uneven):
                        self._fill(wire, size, uneven)

    def test_header_of_v3(self) -> None:
        """The room left for the header of a V3 reply is enough for the largest one."""
        batch = BatchRead(V3, 3, 0, _MAX_ID, _MAX_ID - 1, _MAX_ID, 1, 1)
        one = entry(_MAX_ID, _MAX_ID - 1, bytes(1000))
        reply = b"".join(batch.success([EntryRun.of_entries(_MAX_ID, _MAX_ID - 1, [one])], _MAX_ID))
        self.assertLess(len(reply) - len(one), HEADER_ROOM[3])
