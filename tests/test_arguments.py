"""Checks of arguments, and what their errors say."""

from decimal import Decimal
from fractions import Fraction
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.arguments import (
    LARGEST,
    LONGEST,
    as_bytes,
    check_integer,
    check_seconds,
    check_type,
    decimal_number,
    hex_number,
    refusal,
    whole_number,
)
from bookkeeper_twisted.errors import IncorrectParameterError


class ArgumentTests(SynchronousTestCase):
    """Each check: what passes, what does not, and the text."""

    def text(self, check: Any, *arguments: Any) -> str:
        """The text of the error of a check."""
        return str(self.assertRaises(IncorrectParameterError, check, *arguments))

    def test_refusal(self) -> None:
        """An error names the parameter, what was given and what is wanted; texts and bytes are not shown."""
        for given, shown in (
            (-1, "-1"), (None, "None"), (1.5, "1.5"), ("sesame", "str"), (b"sesame", "bytes"), ([1], "list"),
            (1 << 64, "an integer of 65 bits"), (10**9999, "an integer of 33216 bits"),
        ):  # fmt: skip
            self.assertEqual(str(refusal("size", given, "a number")), f"size: {shown} was given, a number is wanted")

    def test_integer(self) -> None:
        """Integers have both limits, and fractions, texts and truth values are none."""
        for good in (0, 7, LARGEST):
            check_integer("n", good)
        check_integer("n", -1, -1)
        for bad in (-1, LARGEST + 1, 1.0, "1", None, b"1", Decimal(1), float("nan"), True, False):
            self.assertIn("n: ", self.text(check_integer, "n", bad))
        self.assertEqual(self.text(check_integer, "n", 0, 1, 9), "n: 0 was given, an integer from 1 to 9 is wanted")

    def test_seconds(self) -> None:
        """Times are numbers of any kind that are not negative, and end."""
        for good in (0, 0.5, LONGEST, Fraction(1, 3)):
            check_seconds("t", good)  # type: ignore[arg-type]
        check_seconds("t", None, "for ever")
        for bad in (-0.1, LONGEST + 1, float("inf"), float("nan"), "5", None):
            self.assertIn("a number of seconds from 0 to", self.text(check_seconds, "t", bad))
        self.assertIn("(or None: for ever) is wanted", self.text(check_seconds, "t", -1, "for ever"))

    def test_bytes(self) -> None:
        """Bytes are given back as they are, and what is made of bytes as a copy."""
        data, buffer = b"abc", bytearray(b"abc")
        self.assertIs(as_bytes("data", data), data)
        copies = [as_bytes("data", buffer), as_bytes("data", memoryview(buffer)[1:])]
        buffer[:] = b"xyz"
        self.assertEqual(copies, [b"abc", b"bc"])
        for bad in ("abc", 3, None, [1, 2]):
            self.assertIn("bytes, bytearray or memoryview is wanted", self.text(as_bytes, "data", bad))

    def test_type(self) -> None:
        """An instance is given back, anything else is refused."""
        self.assertEqual(check_type("name", "x", str, "str"), "x")
        self.assertEqual(self.text(check_type, "name", b"x", str, "str"), "name: bytes was given, str is wanted")


class NumberTests(SynchronousTestCase):
    """Texts of numbers."""

    def test_numbers(self) -> None:
        """ASCII digits are read, with a sign where numbers are decimal, and with a fraction where there may be one."""
        self.assertEqual([whole_number(text) for text in ("0", "-7", "+7", "007")], [0, -7, 7, 7])
        self.assertEqual((hex_number("fF"), decimal_number("-1.5e3")), (255, -1500.0))

    def test_others(self) -> None:
        """What Python alone takes for a number is refused."""
        for parse in (whole_number, hex_number, decimal_number):
            for text in ("1_0", "\u0661\u0660", "", "x", "\uff11", "0b1"):
                with self.subTest(parse.__name__, text=text):
                    if (parse, text) != (hex_number, "0b1"):
                        self.assertRaises(ValueError, parse, text)
        for text in (" 1", "1\n", "1.0", "--1"):
            self.assertRaises(ValueError, whole_number, text)
