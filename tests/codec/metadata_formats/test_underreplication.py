"""Records of autorecovery."""

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.codec import metadata_formats as formats
from bookkeeper_twisted.errors import CodecError
from bookkeeper_twisted.model import AuditorCheck, UnderreplicatedLedger
from tests.vectors.znodes import under

_int64 = st.integers(-(1 << 63), (1 << 63) - 1)


class CapturedTests(SynchronousTestCase):
    """What Java's auditor and replication worker stored."""

    def test_marks(self) -> None:
        """Marks, also with two replicas."""
        nodes = under("/underreplication/ledgers/")
        self.assertTrue(nodes)
        for node in nodes:
            mark = formats.decode_underreplicated(node.data)
            self.assertTrue(mark.replicas)
            self.assertEqual(formats.encode_underreplicated(mark), node.data)

    def test_locks_and_votes(self) -> None:
        """Locks name a host, votes a bookie."""
        for node in under("/underreplication/locks/"):
            self.assertEqual(formats.decode_lock(node.data), "localhost")
            self.assertEqual(formats.encode_lock("localhost"), node.data)
        votes = under("/underreplication/auditorelection")
        self.assertTrue(votes)
        for node in votes:
            self.assertEqual(formats.decode_vote(node.data), "127.0.0.1:3281")
            self.assertEqual(formats.encode_vote("127.0.0.1:3281"), node.data)

    def test_layout(self) -> None:
        """The layout of marks."""
        nodes = under("/underreplication/LAYOUT")
        self.assertTrue(nodes)
        for node in nodes:
            formats.check_rereplication_layout(node.data)
            self.assertEqual(formats.encode_rereplication_layout(), node.data)

    def test_check_times(self) -> None:
        """Last runs of the auditor's checks."""
        for check in AuditorCheck:
            nodes = under(f"/underreplication/{check.value}")
            self.assertTrue(nodes)
            for node in nodes:
                ms = formats.decode_check_time(check, node.data)
                self.assertEqual(ms, node.raw["decoded"]["field 1"])
                self.assertEqual(formats.encode_check_time(check, ms or 0), node.data)

    def test_recovery_delay(self) -> None:
        """The delay is a decimal number."""
        nodes = under("/underreplication/lostBookieRecoveryDelay")
        self.assertEqual({formats.decode_recovery_delay(node.data) for node in nodes}, {0, 7})
        self.assertEqual(formats.encode_recovery_delay(7), b"7")


class RecordTests(SynchronousTestCase):
    """Values beyond the captured ones."""

    def test_examples(self) -> None:
        """The worked examples."""
        mark = UnderreplicatedLedger(("bk1:3181",), 1700000000000)
        self.assertEqual(formats.encode_underreplicated(mark), b'replica: "bk1:3181"\nctime: 1700000000000\n')
        data = formats.encode_check_time(AuditorCheck.ALL_LEDGERS, 1700000000000)
        self.assertEqual(data.hex(), "0880d095ffbc31")

    def test_absent_fields(self) -> None:
        """A record that does not say gives None."""
        self.assertEqual(formats.decode_underreplicated(b""), UnderreplicatedLedger())
        self.assertIsNone(formats.decode_lock(b""))
        self.assertIsNone(formats.decode_vote(b""))
        self.assertIsNone(formats.decode_check_time(AuditorCheck.REPLICAS, b""))

    def test_other_layouts(self) -> None:
        """Marks laid out in another way, or not described, are refused."""
        for data in (b'type: "OTHER"\nversion: 1\n', b'type: "BASIC"\nversion: 2\n', b'type: "BASIC"\n', b""):
            self.assertRaises(CodecError, formats.check_rereplication_layout, data)

    @given(st.builds(UnderreplicatedLedger, st.lists(st.text(max_size=6), max_size=3).map(tuple), st.none() | _int64))
    def test_round_trip(self, mark: UnderreplicatedLedger) -> None:
        """Every mark comes back."""
        self.assertEqual(formats.decode_underreplicated(formats.encode_underreplicated(mark)), mark)

    def test_values_that_do_not_fit(self) -> None:
        """Numbers beyond 64 bits are refused."""
        self.assertRaises(CodecError, formats.encode_underreplicated, UnderreplicatedLedger((), 1 << 63))
        self.assertRaises(CodecError, formats.encode_check_time, AuditorCheck.PLACEMENT, 1 << 63)

    @given(st.binary(max_size=30))
    def test_arbitrary_bytes(self, data: bytes) -> None:
        """Arbitrary bytes are a record or CodecError, in every decoder."""
        for decode in (
            formats.decode_underreplicated,
            formats.check_rereplication_layout,
            formats.decode_lock,
            formats.decode_vote,
            formats.decode_recovery_delay,
            lambda data: formats.decode_check_time(AuditorCheck.ALL_LEDGERS, data),
        ):
            try:
                decode(data)
            except CodecError:
                pass
