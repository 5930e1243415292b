"""Protobuf text and binary, and decimal numbers."""

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.codec._pb.dataformats_pb2 import CookieFormat, LedgerMetadataFormat, LockDataFormat
from bookkeeper_twisted.codec.metadata_formats.forms import (
    binary_of,
    codec_errors,
    decimal,
    parse_binary,
    parse_text,
    text_of,
)
from bookkeeper_twisted.errors import CodecError


class DecimalTests(SynchronousTestCase):
    """:func:`decimal`."""

    def test_limits(self) -> None:
        """Numbers up to the limits of their size are read."""
        for bits in (32, 64):
            for value in (-(1 << bits - 1), -1, 0, (1 << bits - 1) - 1):
                self.assertEqual(decimal(str(value), bits), value)

    def test_refused(self) -> None:
        """Beyond the limits, and everything else that Python takes for a number, is refused."""
        for text in ("", "-", "+1", " 1", "1 ", "1_0", "0x1", "1.0", "\u0661", "9223372036854775808", "1" * 5000):
            self.assertRaises(CodecError, decimal, text)
        self.assertRaises(CodecError, decimal, "2147483648", 32)


class MessageTests(SynchronousTestCase):
    """Text and binary form."""

    def test_text_escapes(self) -> None:
        """What is not printable ASCII is escaped as Java does."""
        message = LockDataFormat(bookieId="a\t\"\\'\u00fc\x01\x7f")
        self.assertEqual(text_of(message), b'bookieId: "a\\t\\"\\\\\\\'\\303\\274\\001\\177"\n')

    def test_liberties_of_text(self) -> None:
        """Comments, separators, quotes, octal and concatenation are read as Java reads them."""
        for text in (b"'ab'", b'"a" "b"  # comment', b'"\\141b";', b'"\\x61b",'):
            self.assertEqual(parse_text(LockDataFormat(), b"bookieId: " + text).bookieId, "ab")

    def test_repeated_field(self) -> None:
        """Of a field given twice the last one counts."""
        self.assertEqual(parse_text(LockDataFormat(), b'bookieId: "a" bookieId: "b"').bookieId, "b")

    def test_missing_field(self) -> None:
        """A required field that is missing is an error, in both forms and directions."""
        with self.assertRaises(CodecError):
            parse_text(CookieFormat(), b'bookieHost: "a"')
        with self.assertRaises(CodecError):
            parse_binary(CookieFormat(), b"")
        with self.assertRaises(CodecError):
            text_of(CookieFormat())
        with self.assertRaises(CodecError), codec_errors("it"):
            binary_of(CookieFormat())

    def test_deep_nesting(self) -> None:
        """Nesting deeper than a stack is an error of the bytes, not of the program."""
        with self.assertRaises(CodecError), codec_errors("it"):
            parse_text(LockDataFormat(), b"a {" * 20000)

    def test_context(self) -> None:
        """The text of an error begins with what was read."""
        with self.assertRaises(CodecError) as raised, codec_errors("the thing"):
            decimal("x")
        self.assertTrue(str(raised.exception).startswith("the thing: "))

    @given(st.one_of(st.binary(max_size=60), st.text('segment{}:"<>[]0a #\\\n', max_size=30).map(str.encode)))
    def test_arbitrary_bytes(self, data: bytes) -> None:
        """Whatever the libraries raise about bytes arrives as CodecError."""
        for parse in (parse_text, parse_binary):
            try:
                with codec_errors("it"):
                    parse(LedgerMetadataFormat(), data)
            except CodecError:
                pass
