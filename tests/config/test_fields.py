"""Kinds, fields, and settings from their sources."""

from collections.abc import Sequence
from typing import Any

import attrs
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.config.fields import (
    BOOLEAN,
    DIRECTORIES,
    FRACTION,
    TEXT,
    Kind,
    Setting,
    as_text,
    decimal,
    fields_of,
    from_environment,
    from_file,
    from_options,
    integer,
    one_of,
    resolve,
    setting,
    some_of,
)
from bookkeeper_twisted.errors import ConfigError


@attrs.frozen(kw_only=True)
class _Sample:
    """Two fields."""

    size_mb: int = setting("sizeMB", 7, integer(1, 9), "how big", unit="MiB", java="8", alias="size")
    name: str = setting("name", "none", TEXT, "what it is called")


class KindTests(SynchronousTestCase):
    """Texts to values, and the values that are refused."""

    def _refuses(self, kind: Kind[Any], text: str, reason: str) -> None:
        def read() -> None:
            kind.check(kind.parse(text))

        self.assertEqual(str(self.assertRaises(ValueError, read)), reason)

    def test_boolean(self) -> None:
        """The words of Java's configuration reader, in either case."""
        for text in ("true", "TRUE", " yes ", "on", "y", "T"):
            self.assertIs(BOOLEAN.parse(text), True)
        for text in ("false", "No", "off", "n", "F"):
            self.assertIs(BOOLEAN.parse(text), False)
        for text in ("", "1", "tru"):
            self._refuses(BOOLEAN, text, "expected true or false")

    def test_integer(self) -> None:
        """Both limits belong to the range; what is not an integer is refused."""
        kind = integer(1, 3)
        self.assertEqual([kind.parse(t) for t in ("1", " 3 ", "0x1F", "0b11")], [1, 3, 31, 3])
        for value in (1, 3):
            kind.check(value)
        self._refuses(kind, "0", "must be from 1 to 3")
        self._refuses(kind, "4", "must be from 1 to 3")
        for text in ("", "x", "1.5", "5MB", "1_0", "\u0665"):
            self._refuses(kind, text, "expected an integer")
        self._refuses(integer(5), "4", "must be at least 5")
        for text in (str(2**63), "9" * 400):
            self._refuses(integer(5), text, "expected an integer of 64 bits")

    def test_decimal(self) -> None:
        """Infinities and not-a-number are out of every range."""
        kind = decimal(0, 1)
        self.assertEqual(kind.parse("0.25"), 0.25)
        self._refuses(kind, "nan", "must be from 0 to 1")
        self._refuses(kind, "inf", "must be from 0 to 1")
        for text in ("half", "1_0", "\u0665"):
            self._refuses(kind, text, "expected a number")
        self._refuses(decimal(0), "inf", "must be at least 0")

    def test_fraction(self) -> None:
        """Neither 0 nor 1 is between them."""
        FRACTION.check(FRACTION.parse("0.9999"))
        for text in ("0", "1", "nan"):
            self._refuses(FRACTION, text, "must be between 0 and 1")

    def test_one_of(self) -> None:
        """A word in either case; any other is answered with the list."""
        kind = one_of("v2", "auto")
        self.assertEqual(kind.parse(" Auto"), "auto")
        self._refuses(kind, "v4", "expected one of v2, auto")

    def test_some_of(self) -> None:
        """Words of a list in either case; others, repetition and an empty list are answered with the choice."""
        kind = some_of("auditor", "worker")
        for text, words in (("Worker", ("worker",)), ("worker, auditor,", ("worker", "auditor"))):
            self.assertEqual(kind.parse(text), words)
            kind.check(words)
        for text in ("", ",", "janitor", "auditor,janitor", "worker,worker"):
            self._refuses(kind, text, "expected one or more of auditor, worker, separated by commas, each once")

    def test_directories(self) -> None:
        """A list of paths without repetition; blanks and empty parts do not count."""
        self.assertEqual(DIRECTORIES.parse("/a, b,,"), ("/a", "b"))
        self._refuses(DIRECTORIES, "/a,/a", "a directory is named twice")

    def test_as_text(self) -> None:
        """A value is written the way a file would give it."""
        self.assertEqual(
            [as_text(v) for v in (True, False, ("/a", "/b"), 5, "x")], ["true", "false", "/a,/b", "5", "x"]
        )


class FieldsTests(SynchronousTestCase):
    """A class is the table of its fields."""

    def test_fields(self) -> None:
        """The table has every field under its attribute, in order, with its default as text."""
        fields = fields_of(_Sample)
        self.assertEqual(list(fields), ["size_mb", "name"])
        size = fields["size_mb"]
        self.assertEqual(
            (size.key, size.default, size.help, size.unit, size.java, size.alias),
            ("sizeMB", "7", "how big", "MiB", "8", "size"),
        )


class SourcesTests(SynchronousTestCase):
    """Settings carry their origin."""

    def test_file(self) -> None:
        """A setting of a file names file and line."""
        self.assertEqual(from_file("# x\nsizeMB = 3\n", "b.conf"), [Setting("sizeMB", "3", "b.conf:2")])

    def test_malformed_file(self) -> None:
        """An error of the reader names the file."""
        error = self.assertRaises(ConfigError, from_file, "a=\\u1", "b.conf")
        self.assertEqual(str(error), "b.conf: line 1: \\u wants four hexadecimal digits")

    def test_environment(self) -> None:
        """Only variables with the prefix count."""
        environ = {"BK_sizeMB": "3", "HOME": "/", "bk_name": "x"}
        self.assertEqual(from_environment(environ), [Setting("sizeMB", "3", "environment variable BK_sizeMB")])

    def test_options(self) -> None:
        """A setting of the command line names the option."""
        self.assertEqual(from_options({"name": "x"}), [Setting("name", "x", "option --name")])


class ResolveTests(SynchronousTestCase):
    """Sources are merged in rising priority."""

    def _resolve(self, *sources: Sequence[Setting]) -> tuple[dict[str, object], dict[str, str]]:
        resolved = resolve(fields_of(_Sample), sources)
        return resolved.values, resolved.origins

    def _error(self, *sources: Sequence[Setting]) -> str:
        return str(self.assertRaises(ConfigError, self._resolve, *sources))

    def test_later_source_wins(self) -> None:
        """The value and its origin are those of the last source that has the key."""
        sources = [Setting("sizeMB", "3", "one"), Setting("name", "x", "one")], [Setting("sizeMB", "4", "two")]
        self.assertEqual(self._resolve(*sources), ({"size_mb": 4, "name": "x"}, {"size_mb": "two", "name": "one"}))

    def test_alias(self) -> None:
        """An older key means the same field, whichever source it is in."""
        sources = [Setting("size", "3", "one")], [Setting("sizeMB", "4", "two")]
        self.assertEqual(self._resolve(*sources)[0], {"size_mb": 4})
        self.assertEqual(self._resolve(*reversed(sources))[0], {"size_mb": 3})

    def test_twice_in_one_source(self) -> None:
        """Two settings of one field in one source are refused: it is not known which is meant."""
        source = [Setting("size", "3", "f:1"), Setting("sizeMB", "3", "f:2")]
        self.assertEqual(self._error(source), "sizeMB, f:2: set before, size, f:1")

    def test_bad_value(self) -> None:
        """A bad value names key, text, origin and reason."""
        self.assertEqual(self._error([Setting("sizeMB", "x", "f:1")]), "sizeMB = 'x', f:1: expected an integer")
        self.assertEqual(self._error([Setting("sizeMB", "10", "f:1")]), "sizeMB = '10', f:1: must be from 1 to 9")

    def test_overridden_bad_value(self) -> None:
        """A bad value does not hide behind a good one of a higher source."""
        sources = [Setting("sizeMB", "x", "f:1")], [Setting("sizeMB", "3", "option")]
        self.assertIn("f:1", self._error(*sources))

    def test_blank_text(self) -> None:
        """A blank text stands for the default, whatever the kind, also over a lower source."""
        self.assertEqual(self._resolve([Setting("name", "x", "one")], [Setting("name", " ", "two")])[0], {})
        self.assertEqual(self._resolve([Setting("sizeMB", "3", "one")], [Setting("sizeMB", "", "two")])[0], {})

    def test_unknown(self) -> None:
        """Settings that mean nothing are handed back."""
        unknown = Setting("nme", "x", "f:1")
        self.assertEqual(resolve(fields_of(_Sample), [[unknown]]).unknown, (unknown,))
