"""Captured conversations: each frame decodes to what its file says and encodes back to the same bytes.

What is left out is left out by rule: bytes the protocol makes a receiver ignore cannot come back, and
where our bookie is stricter than Java's, or knows more, its refusals are its own.
"""

import re
from collections.abc import Iterator

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.codec.connection import ClientDecoder, ServerDecoder
from bookkeeper_twisted.codec.messages import ReadRequest, RejectedRequest
from bookkeeper_twisted.codec.operations import Operation
from bookkeeper_twisted.codec.runs import BatchRead
from bookkeeper_twisted.codec.wires import V3
from tests.wires import WIRES

from ..vectors.wire import REQUEST, RESPONSE, Frame, Scenario, scenarios
from .describe import v2_request, v2_response, v3_request, v3_response
from .flatten import encode_reply, encode_request, flat, split

# Texts of what a receiver ignores: trailing bytes nobody reads, unknown enum values, write flags without the
# one that means something, a zero that is the default.
_IGNORED = re.compile(r", with \d+ more bytes|, writeFlags [02]|flag 3, |requested 0")
_UNUSUAL = "v3/unusual-encodings"
_UNUSUAL_READS = ((0, 0, 1), (0, 0, 2), (0, 0, 4), (4, 0, 5), (0, 1, 6))  # flags, entry, txnId
_IDS = re.compile(r"addRequest\{ledgerId (\d+), entryId (\d+),.*\[ledger (\d+) entry (\d+) ")


def _requests(scenario: Scenario, conn: int) -> Iterator[tuple[Frame, object]]:
    """Frames of a connection with the one item each of them is, up to TLS or the frame that ends it."""
    decoder = ServerDecoder()
    for frame in scenario.stream(conn, REQUEST):
        if frame.op == "TLS":
            return
        items = split(decoder.receive(frame.data))
        if decoder.error is not None:
            return
        if frame.op != "raw":
            (item,) = items
            yield frame, item


def _all_requests() -> Iterator[tuple[Scenario, Frame, object]]:
    for scenario in scenarios():
        for conn in scenario.formats:
            for frame, item in _requests(scenario, conn):
                yield scenario, frame, item


def _all_responses() -> Iterator[tuple[Frame, object]]:
    """Each response with the one item it is; frames of one connection may be of both protocols."""
    for scenario in scenarios():
        for conn in scenario.formats:
            for frame in scenario.stream(conn, RESPONSE):
                if frame.op == "TLS":
                    break
                decoder = ClientDecoder(WIRES[frame.wire])
                items = split(decoder.receive(frame.data))
                assert decoder.error is None and len(items) == 1, (frame, decoder.error)
                yield frame, items[0]


def _describe_request(frame: Frame, item: object) -> str:
    if isinstance(item, BatchRead) and item.wire is V3:
        priority = ", priority 100" if item.flags & 4 else ""
        return f"txnId {item.request_id}{priority}, field 109"
    return v3_request(item) if frame.wire == 3 else v2_request(item)


_NO_MESSAGE = "no-submessage"


def _missing_message(frame: Frame) -> bool:
    """A V3 operation without its message, which some operations bear."""
    return frame.wire == 3 and "{" not in frame.meaning and "field 109" not in frame.meaning


def _header_version(data: bytes) -> int:
    return data[4]


class RequestTests(SynchronousTestCase):
    """What Java's client and the hand-made requests sent, read by our server side."""

    def test_meaning(self) -> None:
        """Every request decodes to what its file says, apart from what a receiver has to ignore."""
        checked = 0
        for scenario, frame, item in _all_requests():
            if isinstance(item, RejectedRequest) or _missing_message(frame):
                continue
            found = _describe_request(frame, item)
            if found != frame.meaning and scenario.name != _UNUSUAL:
                self.assertEqual(found, _IGNORED.sub("", frame.meaning))
            checked += 1
        self.assertGreater(checked, 1000)

    def test_unusual_encodings(self) -> None:
        """Unknown fields, other field orders, logging context and repeated fields (the last counts) are read."""
        found = [flat([item])[0] for s, frame, item in _all_requests() if s.name == _UNUSUAL and frame.conn == 1]
        plain = [("ReadRun", V3, 3, flags, (810010,), (entry,), (txn,), None) for flags, entry, txn in _UNUSUAL_READS]
        self.assertEqual([item for item in found if isinstance(item, tuple)], plain)
        (fence,) = [item for item in found if isinstance(item, ReadRequest)]
        self.assertEqual((fence.header.txn_id, fence.fence, fence.entry_id), (3, True, -1))

    def test_bytes(self) -> None:
        """Every request encodes back to its bytes, and where it held what is ignored, to the same request."""
        same = ignored = 0
        for scenario, frame, item in _all_requests():
            if isinstance(item, RejectedRequest) or _missing_message(frame):
                continue
            data = encode_request(item)
            if _describe_request(frame, item) == frame.meaning and scenario.name != _UNUSUAL:
                self.assertEqual(data, frame.data, str(frame))
                same += 1
            else:
                self.assertEqual(flat(ServerDecoder().receive(data)), flat([item]), str(frame))
                ignored += 1
        self.assertGreater(same, 1000)
        self.assertLess(ignored, 20)

    def test_hand_made_closes(self) -> None:
        """A connection Java's bookie closed for its bytes has an error here, and no other has one; but a missing
        message is refused here."""
        for scenario in scenarios():
            for conn in scenario.formats:
                decoder = ServerDecoder()
                for frame in scenario.stream(conn, REQUEST):
                    if frame.op == "TLS":
                        break
                    decoder.receive(frame.data)
                closed = scenario.hand_made and conn in scenario.closed_by_bookie and _NO_MESSAGE not in scenario.name
                self.assertEqual(decoder.error is not None, closed, f"{scenario.name} {conn}: {decoder.error}")

    def test_refusals(self) -> None:
        """A request refused here got the same bytes from Java's bookie, unless we are stricter or know more."""
        compared = 0
        for scenario, frame, item in _all_requests():
            if not isinstance(item, RejectedRequest):
                continue
            ids = _IDS.search(frame.meaning)
            if ids and ids.group(1, 2) != ids.group(3, 4):
                continue  # Java stores an entry under other ids than those it answers with
            if "field 109" in frame.meaning:
                continue  # Java serves no V3 batch read
            if _NO_MESSAGE in scenario.name and frame.conn in scenario.closed_by_bookie:
                continue  # Java ends the connection
            self.assertIn(item.reply, [reply.data for reply in scenario.stream(frame.conn, RESPONSE)], str(frame))
            compared += 1
        self.assertGreater(compared, 40)

    def test_missing_messages(self) -> None:
        """Of the V3 operations without a message those that need none are served, as Java does."""
        served = {
            type(item).__name__ for _, frame, item in _all_requests() if _missing_message(frame)
        }  # fmt: skip
        self.assertEqual(served, {"AuthRequest", "BookieInfoRequest", "RejectedRequest"})

    def test_v3_batch_read(self) -> None:
        """The batch reads Java does not know are read by ours."""
        batches = [
            item
            for scenario, frame, item in _all_requests()
            if scenario.name == "v3/batch-read-request-field-109" and frame.op == "BATCH_READ_ENTRY"
        ]
        self.assertEqual([type(item) for item in batches], [BatchRead] * 4 + [RejectedRequest])
        first, with_key, with_wait = batches[:3]
        assert isinstance(first, BatchRead) and isinstance(with_key, BatchRead) and isinstance(with_wait, BatchRead)
        self.assertEqual((first.ledger_id, first.first, first.max_count, first.max_size), (810030, 0, 10, 4096))
        self.assertEqual((with_key.flags, with_key.master_key is None), (1, False))
        self.assertEqual((with_wait.previous_lac, with_wait.timeout_ms), (0, 1000))


class ResponseTests(SynchronousTestCase):
    """What Java's bookie sent, read by our client side."""

    def test_meaning(self) -> None:
        """Every response decodes to what its file says."""
        checked = 0
        for frame, item in _all_responses():
            version = _header_version(frame.data)
            signed = version - 256 if version > 127 else version
            found = v3_response(item) if frame.wire == 3 else v2_response(item, signed)
            self.assertEqual(found, frame.meaning)
            checked += 1
        self.assertGreater(checked, 1000)

    def test_bytes(self) -> None:
        """Every response is what our server side sends for the same request and result."""
        for frame, item in _all_responses():
            version = _header_version(frame.data) if frame.wire == 2 else 3
            self.assertEqual(encode_reply(item, WIRES[frame.wire], version), frame.data, str(frame))


class StreamTests(SynchronousTestCase):
    """Whole directions of connections, cut differently."""

    def test_any_chunks(self) -> None:
        """A stream in one piece, in small odd pieces and frame by frame gives the same requests."""
        for scenario in scenarios():
            for conn in scenario.formats:
                frames = [f.data for f in scenario.stream(conn, REQUEST) if f.op != "TLS"]
                stream = b"".join(frames)
                by_sevens = [stream[i : i + 7] for i in range(0, len(stream), 7)]
                results = []
                for chunks in ([stream], frames, by_sevens if len(stream) < 20_000 else frames):
                    decoder = ServerDecoder()
                    items = [item for chunk in chunks for item in decoder.receive(chunk)]
                    results.append((flat(items), str(decoder.error), decoder.wire))
                self.assertEqual(results[0], results[1], scenario.name)
                self.assertEqual(results[0], results[2], scenario.name)

    def test_operations_are_all_seen(self) -> None:
        """The conversations hold every operation there is, so the suites above leave none out."""
        headers = [item.header for _, _, item in _all_requests() if hasattr(item, "header")]
        seen = {header.operation for header in headers if header.wire is V3}
        runs = {Operation.READ, Operation.ADD, Operation.BATCH_READ}
        self.assertEqual(seen | runs, set(Operation))
