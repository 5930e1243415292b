"""Checks of the arguments of public calls; each error names the parameter, the argument and the valid values.

An error shows only the type of a text or a byte string, because the value may be secret or long.
"""

import operator
import re
from collections.abc import Mapping
from numbers import Real
from typing import TypeVar

from .errors import IncorrectParameterError

T = TypeVar("T")

LARGEST = 2**63 - 1
"""The largest integer that fits into the fields of the wire protocols and of metadata."""

LONGEST = 10**9
"""The longest valid timeout in seconds (about thirty years); timers of the operating system accept this number."""

_WHOLE, _HEX = re.compile("[+-]?[0-9]+"), re.compile("[0-9A-Fa-f]+")

_LONGEST_SHOWN = 64
"""Maximum number of bits of an integer that is shown in the text of an error."""


def refusal(name: str, given: object, wanted: str) -> IncorrectParameterError:
    """Return the error for an invalid argument.

    :param name: name of the parameter.
    :param given: the argument; the error shows the value of a number or None, and the type of anything else.
    :param wanted: text that describes the valid values.
    """
    return IncorrectParameterError(f"{name}: {_shown(given)} was given, {wanted} is wanted")


def _shown(given: object) -> str:
    if isinstance(given, int) and given.bit_length() > _LONGEST_SHOWN:
        return f"an integer of {given.bit_length()} bits"
    return str(given) if given is None or isinstance(given, Real) else type(given).__name__


def check_integer(name: str, given: int, low: int = 0, high: int = LARGEST) -> None:
    """Check that an argument is an integer from ``low`` to ``high`` (inclusive).

    A bool is refused, too: although Python counts it as an integer, the encoders of messages do not accept it.

    :raises IncorrectParameterError: the argument is no integer, or is out of range.
    """
    try:
        fits = not isinstance(given, bool) and low <= operator.index(given) <= high
    except TypeError:
        fits = False
    if not fits:
        raise refusal(name, given, f"an integer from {low} to {high}")


def check_seconds(name: str, given: float | None, otherwise: str = "") -> None:
    """Check that an argument is a number of seconds from 0 to :data:`LONGEST`.

    :param otherwise: meaning of None (for example "no limit"), which the error shows; if empty, None is not valid.
    :raises IncorrectParameterError: the argument is not valid.
    """
    if given is None and otherwise:
        return
    if not (isinstance(given, Real) and 0 <= given <= LONGEST):  # the comparison is false for NaN
        none = f" (or None: {otherwise})" if otherwise else ""
        raise refusal(name, given, f"a number of seconds from 0 to {LONGEST}{none}")


def check_type(name: str, given: object, kind: type[T], wanted: str) -> T:
    """Check that an argument is an instance of the class ``kind``, and return it.

    :param wanted: description of the valid values, for the text of the error.
    :raises IncorrectParameterError: the argument is no instance of the class.
    """
    if not isinstance(given, kind):
        raise refusal(name, given, wanted)
    return given


def as_bytes(name: str, given: object) -> bytes:
    """Return an argument as bytes; copy it if the caller could change its memory later.

    :raises IncorrectParameterError: the argument is neither bytes nor bytearray nor memoryview.
    """
    if isinstance(given, bytes | bytearray | memoryview):
        return bytes(given)
    raise refusal(name, given, "bytes, bytearray or memoryview")


def check_password(given: object) -> None:
    """Check that a password is bytes.

    :raises IncorrectParameterError: the password has another type.
    """
    check_type("password", given, bytes, "bytes")


def check_custom_metadata(given: object) -> None:
    """Check that custom metadata are a mapping of text to bytes.

    :raises IncorrectParameterError: the argument is no mapping, or has keys or values of other types.
    """
    if not isinstance(given, Mapping):
        raise refusal("custom_metadata", given, "a mapping of str to bytes")
    for key, value in given.items():
        check_type("a key of custom_metadata", key, str, "str")
        check_type(f"custom_metadata[{key!r}]", value, bytes, "bytes")


def whole_number(text: str) -> int:
    """Parse a decimal number: ASCII digits, with at most a sign in front.

    :class:`int` also accepts digits of other scripts, underscores between digits, and space.

    :raises ValueError: the text is not such a number.
    """
    if not _WHOLE.fullmatch(text):
        raise ValueError("expected a whole number")
    return int(text)


def hex_number(text: str) -> int:
    """Parse a hexadecimal number: ASCII digits without a sign or a prefix.

    :raises ValueError: the text is not such a number.
    """
    if not _HEX.fullmatch(text):
        raise ValueError("expected a hexadecimal number")
    return int(text, 16)


def decimal_number(text: str) -> float:
    """Parse a number that may have a fraction, in ASCII and without underscores.

    :raises ValueError: the text is not such a number.
    """
    if "_" in text or not text.isascii():
        raise ValueError("expected a number")
    return float(text)


def too_large(size: int, largest: int) -> IncorrectParameterError:
    """Return the error for a payload of ``size`` bytes, if at most ``largest`` bytes are allowed."""
    return IncorrectParameterError(f"data: {size} bytes were given, at most {largest} are wanted, which fit a frame")
