"""Ledger metadata against what Java stored, against the rules of readers, and there and back."""

import attrs
from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.codec.metadata_formats import decode_ledger_metadata, encode_ledger_metadata
from bookkeeper_twisted.errors import CodecError
from bookkeeper_twisted.model import DigestType, LedgerMetadata, LedgerState, Segment
from tests.vectors.znodes import znodes

_EXAMPLE = bytes.fromhex(
    "426f6f6b69654d65746164617461466f726d617456657273696f6e09330a4908021003180020ffffffffffffffffff0128013220"
    "0a08626b313a333138310a08626b323a333138310a08626b333a33313831100038034202707748025a080a036170701201786000"
)
_HEADER = b"BookieMetadataFormatVersion\t"
_BOOKIES = ("bk1:3181", "bk2:3181", "bk3:3181")
_OPEN = LedgerMetadata(
    3, 2, 2, (Segment(0, _BOOKIES),), password=b"pw", custom_metadata={"app": b"x"}, digest_type=DigestType.CRC32C
)  # fmt: skip

_ids = st.text("abcXYZ019.:-_", min_size=1, max_size=12)
_int63 = st.integers(0, (1 << 63) - 1)


@st.composite
def _metadata(draw: st.DrawFn) -> LedgerMetadata:
    version = draw(st.sampled_from([1, 2, 3]))
    ensemble = draw(st.integers(1, 4))
    write_quorum = draw(st.integers(1, ensemble))
    state = draw(st.sampled_from(LedgerState))
    closed = state is LedgerState.CLOSED
    starts = sorted(draw(st.sets(_int63, min_size=1, max_size=3)))
    plain = version == 1
    has_password = not plain and draw(st.booleans())
    return LedgerMetadata(
        ensemble_size=ensemble,
        write_quorum_size=write_quorum,
        ack_quorum_size=write_quorum if plain else draw(st.integers(0, write_quorum)),
        segments=tuple(Segment(start, tuple(draw(_ids) for _ in range(ensemble))) for start in starts),
        state=state,
        length=draw(_int63) if closed else 0,
        last_entry_id=draw(st.integers(-1, (1 << 63) - 1)) if closed else -1,
        digest_type=draw(st.sampled_from(DigestType)) if has_password else DigestType.CRC32C,
        password=draw(st.binary(max_size=10)) if has_password else b"",
        has_password=has_password,
        ctime=None if plain else draw(st.none() | _int63),
        custom_metadata={} if plain else draw(st.dictionaries(st.text(max_size=5), st.binary(max_size=5), max_size=3)),
        c_token=draw(_int63) if version == 3 else 0,
        format_version=version,
    )


class CapturedTests(SynchronousTestCase):
    """What Java stored."""

    def test_bytes(self) -> None:
        """Every captured ledger, in versions 1, 2 and 3, encodes back to the same bytes."""
        versions = set()
        for node in znodes():
            if "ledgerId" in node.raw:
                metadata = decode_ledger_metadata(node.data)
                self.assertEqual(encode_ledger_metadata(metadata), node.data, node.path)
                versions.add(metadata.format_version)
        self.assertEqual(versions, {1, 2, 3})

    def test_values(self) -> None:
        """The values are those Java's own reader gave."""
        seen = set()
        for node in znodes():
            java = node.raw.get("java")
            if java is None:
                continue
            seen.add(node.raw["ledgerId"])
            metadata = decode_ledger_metadata(node.data)
            digest = {DigestType.HMAC: "MAC"}.get(metadata.digest_type, metadata.digest_type.name)
            found = {
                "metadataFormatVersion": metadata.format_version,
                "state": metadata.state.name,
                "ensembleSize": metadata.ensemble_size,
                "writeQuorumSize": metadata.write_quorum_size,
                "ackQuorumSize": metadata.ack_quorum_size,
                "length": metadata.length,
                "lastEntryId": metadata.last_entry_id,
                "hasPassword": metadata.has_password,
                "password": metadata.password.hex() if metadata.has_password else None,
                "digestType": digest if metadata.has_password else None,
                "cToken": metadata.c_token,
                "customMetadata": " ".join(f"{k}={v.hex()}" for k, v in metadata.custom_metadata.items()),
                "ensembles": " ".join(f"{s.first_entry_id}=[{', '.join(s.bookies)}]" for s in metadata.segments),
            }
            self.assertEqual(found, {name: java[name] for name in found}, node.path)
            if metadata.ctime is not None:
                self.assertEqual(metadata.ctime, java["ctime"])
        self.assertEqual(seen, set(range(18)))

    def test_example(self) -> None:
        """The worked example in version 3."""
        self.assertEqual(decode_ledger_metadata(_EXAMPLE), _OPEN)
        self.assertEqual(encode_ledger_metadata(_OPEN), _EXAMPLE)


class RoundTripTests(SynchronousTestCase):
    """There and back."""

    @given(_metadata())
    def test_round_trip(self, metadata: LedgerMetadata) -> None:
        """Every value a version has a place for comes back from it."""
        self.assertEqual(decode_ledger_metadata(encode_ledger_metadata(metadata)), metadata)

    @given(st.sampled_from([b"", _HEADER, *(_HEADER + b"%d\n" % v for v in (1, 2, 3))]), st.binary(max_size=80))
    def test_arbitrary_bytes(self, head: bytes, tail: bytes) -> None:
        """Arbitrary bytes are metadata or CodecError."""
        try:
            decode_ledger_metadata(head + tail)
        except CodecError:
            pass

    @given(_metadata(), st.data())
    def test_damaged_bytes(self, metadata: LedgerMetadata, data: st.DataObject) -> None:
        """Good metadata with a byte changed or cut off is metadata or CodecError."""
        stored = bytearray(encode_ledger_metadata(metadata))
        stored[data.draw(st.integers(0, len(stored) - 1))] = data.draw(st.integers(0, 255))
        for changed in (bytes(stored), bytes(stored[: data.draw(st.integers(0, len(stored)))])):
            try:
                decode_ledger_metadata(changed)
            except CodecError:
                pass


class ReaderTests(SynchronousTestCase):
    """What readers accept and refuse."""

    def _refused(self, data: bytes, why: str) -> None:
        self.assertIn(why, str(self.assertRaises(CodecError, decode_ledger_metadata, data)))

    def test_header(self) -> None:
        """Without a known version line nothing is read."""
        for data in (b"", b"quorumSize: 1\n", _HEADER + b"1234567890\n", _HEADER + b"3", _HEADER + b"-3\n"):
            self._refused(data, "version line is missing")
        for version in (b"0", b"4", b"999999999"):
            self._refused(_HEADER + version + b"\n", "is unknown")

    def test_bytes_after_version_3(self) -> None:
        """What follows the message is ignored, as Java does."""
        self.assertEqual(decode_ledger_metadata(_EXAMPLE + b"more"), _OPEN)

    def test_strings_that_are_not_utf_8(self) -> None:
        """A bookie id or a key that is not UTF-8 is refused."""
        self._refused(_EXAMPLE.replace(b"bk1:", b"b\xff1:"), "ensembleMember is not UTF-8")
        self._refused(_EXAMPLE.replace(b"app", b"\xffpp"), "key is not UTF-8")

    def test_truncated_version_3(self) -> None:
        """A message shorter than announced is refused."""
        self._refused(_EXAMPLE[:-1], "announced")
        self._refused(_HEADER + b"3\n" + b"\xff" * 6, "the length is missing")
        self._refused(_HEADER + b"3\n\x00", "required field")

    def _text(self, **changes: str) -> bytes:
        fields = {
            "quorumSize": "1", "ensembleSize": "1", "length": "0", "state": "OPEN",
            "segment": '{ ensembleMember: "a" firstEntryId: 0 }', "digestType": "CRC32", "password": '"p"', **changes,
        }  # fmt: skip
        return _HEADER + b"2\n" + "\n".join(f"{k}: {v}" for k, v in fields.items() if v).encode()

    def test_defaults(self) -> None:
        """Without an ack quorum it is the write quorum; length and last entry count for CLOSED only."""
        found = decode_ledger_metadata(self._text(quorumSize="2", ensembleSize="2", length="7", lastEntryId="3",
            segment='{ ensembleMember: "a" ensembleMember: "b" firstEntryId: 0 }'))  # fmt: skip
        self.assertEqual((found.ack_quorum_size, found.length, found.last_entry_id), (2, 0, -1))
        closed = decode_ledger_metadata(self._text(length="7", lastEntryId="3", state="CLOSED"))
        self.assertEqual((closed.length, closed.last_entry_id), (7, 3))
        self.assertEqual(decode_ledger_metadata(self._text(state="CLOSED")).last_entry_id, -1)

    def test_unknown_fields(self) -> None:
        """Fields of later versions are skipped."""
        self.assertEqual(decode_ledger_metadata(self._text(later='{ x: "y" }')), decode_ledger_metadata(self._text()))

    def test_digest_without_password(self) -> None:
        """A digest type without a password is ignored; a password without one cannot be read."""
        self.assertFalse(decode_ledger_metadata(self._text(password="")).has_password)
        self._refused(self._text(digestType=""), "no digest type")

    def test_rules(self) -> None:
        """Each rule that readers rely on."""
        for why, changes in (
            ("no segment", {"segment": ""}),
            ("1 bookies, not 2", {"ensembleSize": "2"}),
            ("not a bookie id", {"segment": '{ ensembleMember: "a/b" firstEntryId: 0 }'}),
            ("segment 0 follows 0", {"segment": '{ ensembleMember: "a" firstEntryId: 0 } segment '
                                                '{ ensembleMember: "a" firstEntryId: 0 }'}),
            ("segment 5 follows 9", {"segment": " ".join(
                f'segment {{ ensembleMember: "a" firstEntryId: {first} }}' for first in (0, 9, 5)
            ).removeprefix("segment ")}),
            ("write quorum", {"quorumSize": "2"}),
            ("write quorum", {"ackQuorumSize": "2"}),
            ("required field", {"state": ""}),
            ("ledger metadata", {"state": "LOST"}),
            ("ledger metadata", {"length": "99999999999999999999"}),
        ):  # fmt: skip
            self._refused(self._text(**changes), why)

    def test_version_1(self) -> None:
        """Lines that are no numbers, and too few of them, are refused."""
        good = b"1\n1\n5\n0\ta\n4\tCLOSED"
        self.assertEqual(decode_ledger_metadata(_HEADER + b"1\n" + good).last_entry_id, 4)
        for bad, why in (
            (b"1\n1\n5", "lines are missing"),
            (good.replace(b"5", b"1_0"), "not a 64-bit number"),
            (good.replace(b"1\n1", b"1\n4294967296"), "not a 32-bit number"),
            (good.replace(b"0\ta", b"\ta"), "not a 64-bit number"),
            (b"1\n1\n5\n\xff", "ledger metadata"),
        ):
            self._refused(_HEADER + b"1\n" + bad, why)


class WriterTests(SynchronousTestCase):
    """What is not written, because it could not be read."""

    def _refused(self, metadata: LedgerMetadata, why: str) -> None:
        self.assertIn(why, str(self.assertRaises(CodecError, encode_ledger_metadata, metadata)))

    def test_open_ledger(self) -> None:
        """Length and last entry of an open ledger are stored as 0 and -1."""
        busy = attrs.evolve(_OPEN, length=9, last_entry_id=2)
        self.assertEqual(encode_ledger_metadata(busy), _EXAMPLE)

    def test_rules(self) -> None:
        """The rules of readers, unknown versions and numbers out of range are refused."""
        for why, changes in (
            ("no segment", {"segments": ()}),
            ("is unknown", {"format_version": 4}),
            ("write quorum", {"ack_quorum_size": 3}),
            ("ledger metadata", {"c_token": 1 << 63}),
        ):
            with self.subTest(why):
                self._refused(attrs.evolve(_OPEN, **changes), why)

    def test_version_1_has_no_place(self) -> None:
        """Version 1 does not silently lose what it cannot hold."""
        plain = LedgerMetadata(1, 1, 1, (Segment(0, ("a",)),), has_password=False, format_version=1)
        encode_ledger_metadata(plain)
        for why, changes in (
            ("ack quorum", {"ack_quorum_size": 0}),
            ("password", {"has_password": True}),
            ("custom metadata", {"custom_metadata": {"a": b"b"}}),
            ("bookie named CLOSED", {"segments": (Segment(0, ("CLOSED",)),)}),
        ):
            self._refused(attrs.evolve(plain, **changes), why)
