"""V2 replies, made many at a time and one by one."""

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.codec import messages as m
from bookkeeper_twisted.codec.operations import V2Op
from bookkeeper_twisted.codec.v2 import replies_out
from bookkeeper_twisted.codec.wires import V2
from bookkeeper_twisted.errors import Status

from ..wire_examples import id64, quick, run, signed64


class ReplyTests(SynchronousTestCase):
    """Rows are their single frames."""

    @quick
    @given(st.integers(0, 255), st.sampled_from(list(Status)), signed64, st.integers(0, 1 << 62), st.integers(1, 50))
    def test_add_replies(self, version: int, status: Status, ledger_id: int, first: int, count: int) -> None:
        """Replies to consecutive adds."""
        singles = [replies_out.ids_reply(version, 1, status, ledger_id, first + i) for i in range(count)]
        self.assertEqual(replies_out.ids_replies(version, 1, status, ledger_id, first, count), b"".join(singles))

    def test_past_a_low_word(self) -> None:
        """Entry ids count up beyond 2**16."""
        singles = [replies_out.ids_reply(2, 1, Status.EOK, 7, 65_500 + i) for i in range(100)]
        self.assertEqual(replies_out.ids_replies(2, 1, Status.EOK, 7, 65_500, 100), b"".join(singles))

    @quick
    @given(st.integers(0, 255), st.sampled_from(list(Status)), st.lists(st.tuples(id64, signed64), max_size=20))
    def test_mixed_replies(self, version: int, status: Status, ids: list[tuple[int, int]]) -> None:
        """Replies to any adds."""
        singles = [replies_out.ids_reply(version, 1, status, *pair) for pair in ids]
        columns = [pair[0] for pair in ids], [pair[1] for pair in ids]
        self.assertEqual(replies_out.mixed_replies(version, 1, status, *columns), b"".join(singles))

    @quick
    @given(st.lists(st.tuples(id64, signed64, st.binary(max_size=60)), min_size=1, max_size=20))
    def test_read_replies(self, reads: list[tuple[int, int, bytes]]) -> None:
        """Replies to successful reads."""
        ledgers, ids, entries = ([read[i] for read in reads] for i in range(3))
        singles = [replies_out.read_reply(2, 2, Status.EOK, *read) for read in reads]
        self.assertEqual(replies_out.read_replies(2, 2, ledgers, ids, entries), b"".join(singles))  # type: ignore[arg-type]

    def test_batch_reply_does_not_copy(self) -> None:
        """The records of a batch go out as the object they are (design: bytes are laid out once)."""
        first, second = run(7, 0, [100] * 3), run(7, 3, [50, 60])
        pieces = replies_out.batch_reply(2, 7, Status.EOK, 7, 0, 9, [first, second])
        self.assertEqual(len(pieces[0]), 36)
        self.assertIs(pieces[1], first.data)
        self.assertIs(pieces[2], second.data)
        self.assertEqual(int.from_bytes(pieces[0][:4], "big"), sum(map(len, pieces)) - 4)

    def test_unknown_ledger_state(self) -> None:
        """Java's V2 client drops the connection on 107, so it is told of an I/O error (S5)."""
        reply = replies_out.ids_reply(2, 2, Status.EUNKNOWNLEDGERSTATE, 7, 0)
        self.assertEqual(reply[8:12], (101).to_bytes(4, "big"))


class ColdTests(SynchronousTestCase):
    """Answers to cold requests outside the worked examples."""

    def test_fencing_read_response(self) -> None:
        """The answer to a fencing read echoes version and ids of the request."""
        response = m.ReadResponse(m.Header(V2, 1, V2Op.READ), Status.EUA, 7, -1)
        self.assertEqual(
            replies_out.encode_response(response).hex(), "0000001801020000000000660000000000000007ffffffffffffffff"
        )

    def test_other_auth_versions(self) -> None:
        """The answer of a plugin echoes the version of the request."""
        response = m.AuthResponse(m.Header(V2, 1, V2Op.AUTH), "sasl", b"x")
        self.assertEqual(replies_out.encode_response(response)[4:8], b"\x01\x03\x00\x00")
