"""LAYOUT records."""

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.codec.metadata_formats.layout import HIERARCHICAL, Layout
from bookkeeper_twisted.errors import CodecError
from tests.vectors.znodes import znodes


class LayoutTests(SynchronousTestCase):
    """:class:`Layout`."""

    def test_captured(self) -> None:
        """What Java wrote, encoded back to the same bytes."""
        nodes = [node for node in znodes() if node.name == "LAYOUT" and "underreplication" not in node.path]
        for node in nodes:
            self.assertEqual(Layout.parse(node.data).encode(), node.data)
        names = {Layout.parse(node.data).factory for node in nodes}
        self.assertEqual(names, {HIERARCHICAL, HIERARCHICAL.replace("Hier", "LongHier")})

    def test_format_1(self) -> None:
        """Format 1 has a short type in place of the class."""
        self.assertEqual(Layout.parse(b"1\nflat:1"), Layout("flat", 1, 1))

    def test_final_line_feed(self) -> None:
        """A line feed at the end, as an editor leaves it, is tolerated."""
        self.assertEqual(Layout.parse(b"2\na.B:1\n"), Layout("a.B"))

    def test_refused(self) -> None:
        """Anything but version, class and number is refused."""
        for data in (
            b"", b"2", b"2\n", b"3\na:1", b"0\na:1", b"2\na", b"2\n:1", b"2\na:", b"2\na:b", b"2\na:1:2", b"2\na:1\nb",
            b"\xff\na:1", b"2\na:99999999999",
        ):  # fmt: skip
            with self.subTest(data):
                self.assertRaises(CodecError, Layout.parse, data)

    def test_no_form(self) -> None:
        """A name that would not come back is not written."""
        for layout in (Layout("a:b"), Layout("a\nb"), Layout(""), Layout("a", 1 << 40), Layout("a", 1, 9)):
            self.assertRaises(CodecError, layout.encode)

    @given(st.one_of(st.binary(max_size=30), st.text("0123\n:aB.", max_size=12).map(str.encode)))
    def test_arbitrary_bytes(self, data: bytes) -> None:
        """Arbitrary bytes are a layout that has a form, or CodecError."""
        try:
            layout = Layout.parse(data)
        except CodecError:
            return
        self.assertEqual(Layout.parse(layout.encode()), layout)
