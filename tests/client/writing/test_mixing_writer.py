"""A writer whose entries may be part of mixed runs; what becomes of the runs is in :mod:`.test_mixed_run`."""

from bookkeeper_twisted.config.bookie import ClientConfig
from bookkeeper_twisted.errors import IncorrectParameterError

from .writer_case import LEDGER, WriterTestCase


class LeavingTests(WriterTestCase):
    """One ledger."""

    def test_alone(self) -> None:
        """The only append of a turn is sent at its end, as a run of the writer's own."""
        appended = self.writer.append(b"a")
        self.assertIsNotNone(self.writer.quorum.mixed)
        self.clock.advance(0)
        self.assertIsNone(self.writer.quorum.mixed)
        self.assertEqual(self.bookies["b0"].requests, [("add", LEDGER, 0, 1)])
        self.settle()
        self.assertEqual(self.successResultOf(appended), 0)

    def test_second_append(self) -> None:
        """With a second append in the turn, both are a run of their own, in order."""
        appended = [self.writer.append(b"a"), self.writer.append(b"b")]
        self.assertIsNone(self.writer.quorum.mixed)
        self.settle()
        self.assertEqual([self.successResultOf(each) for each in appended], [0, 1])
        self.assertEqual(self.bookies["b0"].requests[0][2:], (0, 2))

    def test_large_frames(self) -> None:
        """An entry that no frame can carry is refused, whatever may be mixed."""
        writer = self.make(ClientConfig(netty_max_frame_size_bytes=1024), 6)
        self.failureResultOf(writer.append(bytes(1000)), IncorrectParameterError)
        self.assertEqual(writer.last_add_pushed, -1)
