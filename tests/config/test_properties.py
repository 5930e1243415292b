"""The ``.properties`` reader."""

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.config.properties import Property, read_properties
from bookkeeper_twisted.errors import ConfigError


def _pairs(text: str) -> list[tuple[str, str]]:
    return [(p.key, p.value) for p in read_properties(text)]


class ReadPropertiesTests(SynchronousTestCase):
    """What the text of a file means."""

    def test_separators(self) -> None:
        """A key ends at ``=``, ``:`` or white space, with blanks around any of them."""
        for line in ("k=v", "k:v", "k v", "k = v", "k\t:\tv", "  k  v", "\fk=v"):
            with self.subTest(line):
                self.assertEqual(_pairs(line), [("k", "v")])

    def test_only_the_first_separator_counts(self) -> None:
        """A value may hold further separators; URIs do."""
        self.assertEqual(_pairs("uri=zk://h:2181/l=x"), [("uri", "zk://h:2181/l=x")])
        self.assertEqual(_pairs("k = = v"), [("k", "= v")])

    def test_comments_and_blank_lines(self) -> None:
        """``#`` and ``!`` begin a comment at the start of a line only."""
        self.assertEqual(_pairs("# a=1\n\n  ! b=2\n \t\nk=v # no comment\n"), [("k", "v # no comment")])

    def test_continuation(self) -> None:
        """An odd number of backslashes joins the next line without its indentation."""
        self.assertEqual(_pairs("k=a,\\\n    b,\\\n\tc\nl=d"), [("k", "a,b,c"), ("l", "d")])
        self.assertEqual(_pairs("k=a\\\\\nl=d"), [("k", "a\\"), ("l", "d")])

    def test_continued_comment_sign_is_data(self) -> None:
        """A ``#`` at the start of a continuation is no comment."""
        self.assertEqual(_pairs("k=a\\\n#b"), [("k", "a#b")])

    def test_comment_does_not_continue(self) -> None:
        """A backslash at the end of a comment joins nothing."""
        self.assertEqual(_pairs("# a\\\nk=v"), [("k", "v")])

    def test_continuation_at_the_end(self) -> None:
        """A backslash that ends the file joins nothing and is dropped."""
        self.assertEqual(_pairs("k=v\\"), [("k", "v")])

    def test_escapes(self) -> None:
        """Control characters and code points are escaped; other backslashes vanish."""
        self.assertEqual(_pairs(r"k=a\tb\nc\u0041\q\\"), [("k", "a\tb\ncAq\\")])
        self.assertEqual(_pairs(r"a\ b\=c = v"), [("a b=c", "v")])

    def test_malformed_escape(self) -> None:
        r"""``\u`` without four digits is an error that names the line."""
        error = self.assertRaises(ConfigError, _pairs, "a=1\nk=\\u12")
        self.assertEqual(str(error), "line 2: \\u wants four hexadecimal digits")

    def test_byte_order_mark(self) -> None:
        """A byte order mark in front of the text is no part of the first key; elsewhere it is a character."""
        self.assertEqual(_pairs("\ufeffa=1\nb=\ufeff2"), [("a", "1"), ("b", "\ufeff2")])

    def test_empty_value_and_bare_key(self) -> None:
        """A key may stand alone."""
        self.assertEqual(_pairs("a=\nb\nc ="), [("a", ""), ("b", ""), ("c", "")])

    def test_trailing_blanks_stay(self) -> None:
        """The reader keeps blanks at the end of a value, as Java does."""
        self.assertEqual(_pairs("k=v "), [("k", "v ")])

    def test_line_numbers(self) -> None:
        """A property has the number of its first line, whatever ends the lines."""
        found = list(read_properties("# x\r\na=1\\\r\n  2\rb=3\n\nc=4"))
        self.assertEqual(found, [Property("a", "12", 2), Property("b", "3", 4), Property("c", "4", 6)])

    @given(st.text(min_size=1), st.text())
    def test_escaped_text_survives(self, key: str, value: str) -> None:
        """Any key and value come back if every character is written as an escape."""

        def escape(text: str) -> str:
            units = text.encode("utf-16-be", "surrogatepass")
            return "".join(f"\\u{units[i] << 8 | units[i + 1]:04x}" for i in range(0, len(units), 2))

        ((read_key, read_value),) = _pairs(f"{escape(key)}={escape(value)}")
        self.assertEqual((escape(read_key), escape(read_value)), (escape(key), escape(value)))

    @given(st.text(alphabet="ab=:#!\\u01 \t\f\r\n"))
    def test_any_text_is_read_or_refused(self, text: str) -> None:
        """No text makes the reader fail in any other way than its own error."""
        try:
            for found in read_properties(text):
                self.assertGreaterEqual(found.line, 1)
        except ConfigError as error:
            self.assertIn("\\u", text)
            self.assertIn("hexadecimal", str(error))
