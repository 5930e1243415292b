"""The load generator on a socket pair."""

import socket

from twisted.trial.unittest import SynchronousTestCase

from benchmarks.shared.generator import (
    FIRST_ID,
    Replies,
    drive,
    first_reply,
    frames,
    parser,
    to_next_ledger,
    turn_frames,
)


def _reply(status: int) -> bytes:
    """A V2 reply of 12 bytes."""
    return b"\0\0\0\x08\x02\x01\0\0" + status.to_bytes(4, "big")


class GeneratorTests(SynchronousTestCase):
    """A bookie whose replies are made up."""

    def setUp(self) -> None:
        self.ours, self.theirs = socket.socketpair()
        self.addCleanup(self.ours.close)
        self.addCleanup(self.theirs.close)

    def replies(self) -> Replies:
        self.theirs.sendall(_reply(0))
        return Replies(self.ours, first_reply(self.ours, b"request", 2))

    def test_first(self) -> None:
        """A first request that is refused ends the run."""
        self.theirs.sendall(_reply(101))
        self.assertRaises(ValueError, first_reply, self.ours, b"request", 2)

    def test_pieces(self) -> None:
        """Replies are counted when they are complete, wherever the stream is cut."""
        stream = _reply(0) * 3
        for cut in range(1, len(stream)):
            replies = self.replies()
            self.theirs.sendall(stream[:cut])
            replies.receive()
            self.assertEqual(replies.done, cut // 12)
            self.theirs.sendall(stream[cut:])
            replies.receive()
            self.assertEqual(replies.done, 3)

    def test_error(self) -> None:
        """An error in any of them is seen, wherever the stream is cut."""
        stream = _reply(0) + _reply(5) + _reply(0)
        for cut in range(1, len(stream)):
            replies = self.replies()
            with self.assertRaises(ValueError):
                for part in (stream[:cut], stream[cut:]):
                    self.theirs.sendall(part)
                    replies.receive()

    def test_end(self) -> None:
        """A bookie that closes the connection ends the run."""
        replies = self.replies()
        self.theirs.close()
        self.assertRaises(ConnectionError, replies.receive)

    def test_acks(self) -> None:
        """A request is done when enough bookies have answered, the run when all have answered all."""
        self.theirs.sendall(_reply(0))
        shape = first_reply(self.ours, b"", 2)
        pairs = [socket.socketpair() for _ in range(3)]
        for ours, theirs in pairs:
            self.addCleanup(ours.close)
            self.addCleanup(theirs.close)
            theirs.sendall(_reply(0) * 5)
        latencies = drive([ours for ours, _ in pairs], shape, b"12345", 5, 5, 2)
        self.assertEqual(len(latencies), 5)
        self.assertEqual([theirs.recv(100) for _, theirs in pairs], [b"12345"] * 3)


class FramesTests(SynchronousTestCase):
    """The requests."""

    def options(self, *words: str) -> tuple[int, bytes]:
        o = parser().parse_args([*words, "--ports", "1"])
        requests = frames(o, 0, 20)
        return len(requests) // 20, requests

    def test_one_length(self) -> None:
        """All requests of a run have one length, which their length words say."""
        for words in (
            ("add", "--wire", "2"), ("add", "--wire", "3"), ("add", "--wire", "2", "--ledgers", "3"),
            ("read", "--wire", "2", "--entries", "9"), ("read", "--wire", "3", "--entries", "9"),
            ("batch", "--wire", "2", "--entries", "9", "--batch", "2"),
        ):  # fmt: skip
            stride, requests = self.options(*words)
            for at in range(0, len(requests), stride):
                self.assertEqual(int.from_bytes(requests[at : at + 4], "big"), stride - 4, words)

    def test_ledgers_in_turn(self) -> None:
        """Adds go to the ledgers in turn, each of which has ascending ids."""
        stride, requests = self.options("add", "--wire", "2", "--ledger", "70", "--ledgers", "3")
        packets = [requests[at + 28 : at + 44] for at in range(0, len(requests), stride)]
        found = [(int.from_bytes(p[:8], "big"), int.from_bytes(p[8:], "big") - FIRST_ID) for p in packets]
        self.assertEqual(found[:5], [(70, 0), (71, 0), (72, 0), (70, 1), (71, 1)])

    def test_runs_in_turn(self) -> None:
        """A ledger gets several entries in its turn, and goes on with the next one after the others' turns."""
        words = ("add", "--wire", "2", "--ledger", "70", "--ledgers", "2", "--run", "3")
        stride, requests = self.options(*words)
        packets = [requests[at + 28 : at + 44] for at in range(0, len(requests), stride)]
        found = [(int.from_bytes(p[:8], "big"), int.from_bytes(p[8:], "big") - FIRST_ID) for p in packets]
        self.assertEqual(found[:8], [(70, 0), (70, 1), (70, 2), (71, 0), (71, 1), (71, 2), (70, 3), (70, 4)])

    def test_next_ledger(self) -> None:
        """Adds of a ledger become those of the next one: only the ids, and the digests over them, differ."""
        words = ("add", "--wire", "2", "--size", "300")
        for ledger_id in (70, 255, 65_535):
            stride, requests = self.options(*words, "--ledger", str(ledger_id))
            _, expected = self.options(*words, "--ledger", str(ledger_id + 1))
            adds = bytearray(requests)
            to_next_ledger(adds, 20)
            for at in range(0, len(adds), stride):
                for part in (slice(at, at + 60), slice(at + 64, at + stride)):
                    self.assertEqual(adds[part], expected[part])

    def test_later_requests(self) -> None:
        """A run that begins within a turn goes on where the one before it ended."""
        ledgers, size, whole = range(70, 73), 10, 20
        ids = slice(28, 44)
        for run in (1, 4):
            words = ("add", "--ledger", "70", "--ledgers", "3", "--size", str(size), "--run", str(run))
            stride, requests = self.options(*words)
            for first in range(whole):
                for count in (1, 5, whole - first):
                    later = turn_frames(2, ledgers, first, min(count, whole - first), size, run)
                    for at in range(0, len(later), stride):
                        expected = requests[first * stride + at :][ids]
                        self.assertEqual(later[at:][ids], expected)
                    self.assertEqual(len(later), min(count, whole - first) * stride)
