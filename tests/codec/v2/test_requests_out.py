"""V2 requests: what V2 can say, and what it cannot."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.codec import messages as m
from bookkeeper_twisted.codec.connection import ServerDecoder
from bookkeeper_twisted.codec.operations import Operation, V2Op
from bookkeeper_twisted.codec.runs import BatchRead
from bookkeeper_twisted.codec.v2 import replies_out, requests_out
from bookkeeper_twisted.codec.wires import V2, V3
from bookkeeper_twisted.errors import CodecError, Status

from ..flatten import flat
from ..wire_examples import KEY, run


class EncodingTests(SynchronousTestCase):
    """Requests outside the worked examples."""

    def test_rows_and_single_adds(self) -> None:
        """A run of adds has the bytes of its adds one by one, of one size and of several."""
        for sizes in ([40] * 5, [40, 41, 40, 3000], [24]):
            entries = run(7, 3, sizes)
            singles = [requests_out.encode_adds(KEY, entries.slice(3 + i, 1), 2) for i in range(entries.count)]
            self.assertEqual(requests_out.encode_adds(KEY, entries, 2), b"".join(singles))

    def test_versions(self) -> None:
        """Version 0 has an opcode and no flags; version 1 has flags."""
        self.assertEqual(requests_out.encode_reads(7, [0], 4, version=0)[4:8], b"\x00\x00\x00\x02")
        self.assertEqual(requests_out.encode_reads(7, [0], 4, version=1)[4:8], b"\x01\x02\x00\x04")

    def test_what_v2_cannot_say(self) -> None:
        """Other key lengths and V3's operations are refused, not sent in another meaning."""
        entries = run(7, 0, [40])
        header = m.Header(V3, 3, Operation.READ_LAC, 1)
        for call in (
            lambda: requests_out.encode_adds(b"short", entries),
            lambda: requests_out.encode_batch_read(BatchRead(V2, 2, 1, 7, 0, 1, 1, 1, b"short")),
            lambda: requests_out.encode_request(
                m.ReadRequest(m.Header(V2, 2, V2Op.READ), 7, -1, True, False, b"short")
            ),
            lambda: requests_out.encode_request(m.ReadLacRequest(header, 7)),
            lambda: replies_out.encode_response(m.ReadLacResponse(header, Status.EOK, 7)),
        ):
            self.assertRaises(CodecError, call)

    def test_unsent_fields(self) -> None:
        """Previous LAC and timeout of a batch read are V3's."""
        plain = BatchRead(V2, 2, 0, 7, 0, 1, 1, 1)
        waiting = BatchRead(V2, 2, 0, 7, 0, 1, 1, 1, None, 5, 1000)
        self.assertEqual(requests_out.encode_batch_read(waiting), requests_out.encode_batch_read(plain))

    def test_reads(self) -> None:
        """Reads go out in order."""
        self.assertEqual(
            flat(ServerDecoder().receive(requests_out.encode_reads(7, [5, 3, -1], 4))),
            [("ReadRun", V2, 2, 4, (7,), (i,), (), None) for i in (5, 3, -1)],
        )
