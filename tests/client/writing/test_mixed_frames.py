"""Adds of many ledgers that are sealed together: the bytes that each ledger alone would have sent."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.client.writing.exclusive_log import ExclusiveLog
from bookkeeper_twisted.client.writing.frame_shape import V2Shape
from bookkeeper_twisted.client.writing.log_terms import TermPool
from bookkeeper_twisted.client.writing.mixed_frames import MixedFrames, seal_mixed
from bookkeeper_twisted.client.writing.pending_run import RunSealer
from bookkeeper_twisted.codec.digest import Digester
from bookkeeper_twisted.ledger.schedule import Schedule
from bookkeeper_twisted.model import DigestType
from bookkeeper_twisted.testing.adds import split_frames

LARGEST = (1 << 63) - 1
Item = tuple[int, int, int, int, bytes]
"""Ledger, entry, LAC, length with the payload, payload."""


def _alone(digester: Digester, item: Item) -> bytes:
    """What a writer of one ledger sends."""
    ledger_id, entry_id, confirmed, length, payload = item
    shape = V2Shape(ledger_id, digester.size, digester.master_key)
    log = ExclusiveLog.unbounded(shape, TermPool(1024))
    sealer = RunSealer(ledger_id, shape, digester, Schedule(1, 1, 1))
    sealer.go_on(entry_id - 1, length - len(payload))
    log.offer(payload)
    run = sealer.take(log, 1 << 20, confirmed)
    assert run is not None
    return run.adds(entry_id, 1).requests(2, 0)


def _sealed(digester: Digester, items: Sequence[Item]) -> MixedFrames:
    ledger_ids, entry_ids, confirmed, lengths, payloads = zip(*items, strict=True)
    return seal_mixed(digester, ledger_ids, entry_ids, confirmed, lengths, payloads)


def _items(*payloads: bytes) -> list[Item]:
    """Entries of ledgers that are at different ids and lengths."""
    return [(40 - n, 7 * n, 7 * n - 1, 1000 * n + len(payload), payload) for n, payload in enumerate(payloads)]


class MixedFramesTests(SynchronousTestCase):
    """Frames of every digest type."""

    def _check(self, items: Sequence[Item], password: bytes = b"pw") -> None:
        for digest_type in DigestType:
            digester = Digester(digest_type, password)
            frames = _sealed(digester, items)
            self.assertEqual(split_frames(frames.frames), [_alone(digester, item) for item in items])

    def test_one_size(self) -> None:
        """Payloads of one size."""
        self._check(_items(*[b"%03d" % n for n in range(300)]))

    def test_mixed_sizes(self) -> None:
        """Payloads of different sizes, from one on; the size of the first is not that of the others."""
        self._check(_items(*[bytes([n]) * (1 + n * n) for n in range(70)]))
        self._check(_items(b"ab", b"c", b"de"))

    def test_empty(self) -> None:
        """Payloads without a byte, all or some."""
        self._check(_items(b"", b""))
        self._check(_items(b"", b"a", b""))

    def test_large_numbers(self) -> None:
        """Ids and lengths up to the largest."""
        self._check(
            [(LARGEST, LARGEST, LARGEST - 1, LARGEST, b"ab"), (0, 0, -1, 0, b""), (1 << 40, 1, 0, 1 << 50, b"")]
        )

    def test_passwords(self) -> None:
        """The key of the ledgers is in each frame."""
        self._check(_items(b"a", b"b"), b"")
        one, two = (_sealed(Digester(DigestType.DUMMY, password), _items(b"a", b"b")) for password in (b"1", b"2"))
        self.assertNotEqual(one.frames, two.frames)

    @given(
        st.sampled_from(DigestType),
        st.lists(st.tuples(st.integers(0, LARGEST), st.integers(0, LARGEST), st.binary(max_size=9)), min_size=1),
    )
    def test_any(self, digest_type: DigestType, drawn: list[tuple[int, int, bytes]]) -> None:
        """Whatever the ids and sizes."""
        items = [(ledger_id, entry_id, entry_id - 1, entry_id // 2 + 9, data) for ledger_id, entry_id, data in drawn]
        digester = Digester(digest_type, b"pw")
        self.assertEqual(split_frames(_sealed(digester, items).frames), [_alone(digester, item) for item in items])


class SomeTests(SynchronousTestCase):
    """Those at some places."""

    def setUp(self) -> None:
        self.items = _items(b"a", b"bc", b"", b"defg")
        self.digester = Digester(DigestType.CRC32C, b"")
        self.frames = _sealed(self.digester, self.items)

    def test_some(self) -> None:
        """Ids and bytes are those of the places that are asked for, in order."""
        for places in ([0], [1, 3], [0, 1, 2], [2]):
            some = self.frames.some(places)
            chosen = [self.items[place] for place in places]
            self.assertEqual(some.ledger_ids, tuple([item[0] for item in chosen]))
            self.assertEqual(some.entry_ids, tuple([item[1] for item in chosen]))
            self.assertEqual(some.frames, b"".join([_alone(self.digester, item) for item in chosen]))

    def test_all(self) -> None:
        """All of them are what was sealed, and nothing is joined again."""
        self.assertIs(self.frames.some([0, 1, 2, 3]), self.frames)

    def test_some_of_some(self) -> None:
        """Places are counted anew in what was chosen."""
        some = self.frames.some([1, 2, 3]).some([0, 2])
        self.assertEqual(some.ledger_ids, (self.items[1][0], self.items[3][0]))
        self.assertEqual(split_frames(some.frames), [_alone(self.digester, self.items[place]) for place in (1, 3)])
