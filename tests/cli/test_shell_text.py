"""Values as the shell prints them; the expected texts are those of Apache's shell."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.cli.shell_text import (
    FORMAT_ENTRY,
    FORMAT_ID,
    PARSE_ID,
    bookie_text,
    line,
    metadata_text,
)
from bookkeeper_twisted.client.admin import readable
from bookkeeper_twisted.model import DigestType, LedgerMetadata, LedgerState, Segment

A, B, C, D = "127.0.0.1:3281", "127.0.0.1:3282", "127.0.0.1:3283", "bookie-four"


class TextTests(SynchronousTestCase):
    """Lines."""

    def test_line(self) -> None:
        """Attributes follow the message in braces."""
        self.assertEqual(line("log entry", ledgerId=4, x="y"), "log entry {ledgerId=4, x=y}")
        self.assertEqual(line("Done"), "Done")

    def test_sizes(self) -> None:
        """Sizes are cut, not rounded, to three digits."""
        for size, text in (
            (71628529664, "(71.628GB)"), (286514118656, "(286.514GB)"), (1082212696064, "(1.082TB)"), (0, ""),
            (999, ""), (1000, "(1KB)"), (1500, "(1.5KB)"), (1999999, "(1.999MB)"), (5 * 10**15, "(5000TB)"),
        ):  # fmt: skip
            self.assertEqual(readable(size), text)

    def test_bookies(self) -> None:
        """A bookie with its address and name, or without."""
        self.assertEqual(
            bookie_text(D, "127.0.0.1", 3284, "localhost"),
            "BookieID:bookie-four, IP:127.0.0.1, Port:3284, Hostname:localhost",
        )
        self.assertEqual(bookie_text(D, None, None, None), "BookieID:bookie-four, IP:UNKNOWN, Port:0, Hostname:UNKNOWN")


class MetadataTests(SynchronousTestCase):
    """Ledger metadata."""

    def test_version_3(self) -> None:
        """Digest, password and custom metadata are printed."""
        metadata = LedgerMetadata(
            4, 3, 2, (Segment(0, (C, B, D, A)),), LedgerState.CLOSED, 50, 4, DigestType.CRC32, b"",
            custom_metadata={"bin": b'\x00\x01\xff"\\\n', "application": b"vectors"},
        )  # fmt: skip
        self.assertEqual(
            metadata_text(metadata),
            "LedgerMetadata{formatVersion=3, ensembleSize=4, writeQuorumSize=3, ackQuorumSize=2, state=CLOSED,"
            " length=50, lastEntryId=4, digestType=CRC32, password=base64:, ensembles={0=[127.0.0.1:3283,"
            " 127.0.0.1:3282, bookie-four, 127.0.0.1:3281]}, customMetadata={application=base64:dmVjdG9ycw==,"
            " bin=base64:AAH/IlwK}}",
        )

    def test_version_1(self) -> None:
        """Metadata without a password do not say one; there may be several ensembles."""
        segments = (Segment(0, (D, B, C)), Segment(3, (D, A, C)))
        metadata = LedgerMetadata(
            3, 3, 3, segments, LedgerState.CLOSED, 60, 5, has_password=False, format_version=1
        )  # fmt: skip
        self.assertEqual(
            metadata_text(metadata),
            "LedgerMetadata{formatVersion=1, ensembleSize=3, writeQuorumSize=3, ackQuorumSize=3, state=CLOSED,"
            " length=60, lastEntryId=5, ensembles={0=[bookie-four, 127.0.0.1:3282, 127.0.0.1:3283],"
            " 3=[bookie-four, 127.0.0.1:3281, 127.0.0.1:3283]}, customMetadata={}}",
        )

    def test_control_characters(self) -> None:
        """What a client has written cannot control a terminal, nor begin a line."""
        metadata = LedgerMetadata(
            1, 1, 1, (Segment(0, ("b\x1b[31m",)),), custom_metadata={"näme\nlog entry": b"", "\u202e": b""}
        )
        text = metadata_text(metadata)
        self.assertIn(r"ensembles={0=[b\x1b[31m]}, customMetadata={näme\nlog entry=base64:, \u202e=base64:}", text)

    def test_open(self) -> None:
        """An open ledger has no last entry; the digest of HMAC is called MAC."""
        metadata = LedgerMetadata(1, 1, 1, (Segment(0, (B,)),), digest_type=DigestType.HMAC, password=b"secret")
        self.assertEqual(
            metadata_text(metadata),
            "LedgerMetadata{formatVersion=3, ensembleSize=1, writeQuorumSize=1, ackQuorumSize=1, state=OPEN,"
            " digestType=MAC, password=base64:c2VjcmV0, ensembles={0=[127.0.0.1:3282]}, customMetadata={}}",
        )


class FormatTests(SynchronousTestCase):
    """Formats of ids and entries."""

    def test_ledger_ids(self) -> None:
        """Each format reads what it prints."""
        for ledger_id in (0, 18, (1 << 63) - 1):
            for name in FORMAT_ID:
                self.assertEqual(PARSE_ID[name](FORMAT_ID[name](ledger_id)), ledger_id)
        self.assertEqual(FORMAT_ID["hex"](255), "ff")
        self.assertEqual(FORMAT_ID["uuid"](1), "00000000-0000-0000-0000-000000000001")

    def test_other_spellings(self) -> None:
        """What Python alone takes for digits is refused."""
        uuid = "00000000-0000-0000-0000-0000000000"
        for name, texts in (
            ("long", ("1_0", "\u0661", " 1", "")), ("hex", ("1_f", "\u0661", "0x1", "")),
            ("uuid", (uuid + "1_", uuid + "\u0661\u0661")),
        ):  # fmt: skip
            for text in texts:
                with self.subTest(name, text=text):
                    self.assertRaises(ValueError, PARSE_ID[name], text)

    def test_hex(self) -> None:
        """Sixteen bytes in a line, with their characters."""
        data = bytes(62 + 7 * i & 255 for i in range(20))
        self.assertEqual(
            FORMAT_ENTRY["hex"](data),
            "00000000 3E 45 4C 53 5A 61 68 6F 76 7D 84 8B 92 99 A0 A7 >ELSZahov}......\n"
            "00000010 AE B5 BC C3                                     ....",
        )
        self.assertEqual(FORMAT_ENTRY["hex"](b""), "")

    def test_string(self) -> None:
        """Text is printed as it is, what is none with the sign for it."""
        self.assertEqual(FORMAT_ENTRY["string"](b"a\xc3\xa9\xff"), "a\u00e9\ufffd")
