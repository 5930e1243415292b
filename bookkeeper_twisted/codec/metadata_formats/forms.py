"""Encoding and decoding of stored values in three forms: protobuf text, protobuf binary and decimal numbers."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from google.protobuf import text_format
from google.protobuf.message import DecodeError, EncodeError, Message

from ...errors import CodecError

M = TypeVar("M", bound=Message)

_DECIMAL = re.compile(r"-?[0-9]{1,19}")


@contextmanager
def codec_errors(what: str) -> Iterator[None]:
    """Convert the errors that libraries raise in a ``with`` statement to CodecErrors.

    :param what: the beginning of the text of the CodecError, for example the name of the record."""
    try:
        yield
    except CodecError as error:
        raise CodecError(f"{what}: {error}") from None
    except (DecodeError, EncodeError, text_format.ParseError, ValueError, RecursionError) as error:
        raise CodecError(f"{what}: {str(error) or type(error).__name__}") from error


def parse_text(message: M, data: bytes) -> M:
    """Parse protobuf text into a message; unknown fields are skipped, as in Java.

    :param message: an empty message, which is filled in place.
    :returns: the same message.
    :raises CodecError: a required field is missing.
    :raises google.protobuf.text_format.ParseError: the text is malformed; :func:`codec_errors` converts this error, and
        UnicodeDecodeError, to CodecError.
    """
    text_format.Merge(data.decode("utf-8"), message, allow_unknown_field=True)
    return _complete(message)


def parse_binary(message: M, data: bytes) -> M:
    """Parse binary protobuf into a message; unknown fields are skipped.

    :param message: an empty message, which is filled in place.
    :returns: the same message.
    :raises CodecError: a required field is missing.
    :raises google.protobuf.message.DecodeError: the bytes are malformed; :func:`codec_errors` converts it to
        CodecError.
    """
    message.MergeFromString(data)
    return _complete(message)


def text_of(message: Message) -> bytes:
    """Encode a message as protobuf text; for ASCII values, Java writes the same bytes.

    :raises CodecError: a required field is missing.
    """
    return text_format.MessageToString(_complete(message), as_utf8=False).encode("ascii")


def binary_of(message: Message) -> bytes:
    """Encode a message as binary protobuf, with the fields in the order of their numbers.

    :raises google.protobuf.message.EncodeError: a required field is missing; :func:`codec_errors` converts it to
        CodecError.
    """
    return message.SerializeToString(deterministic=True)


def decimal(text: str, bits: int = 64) -> int:
    """Parse a decimal number in the form that Java accepts; :class:`int` would accept more forms.

    :raises CodecError: the text is not a decimal number, or the number has more than ``bits`` bits.
    """
    value = int(text) if _DECIMAL.fullmatch(text) else None
    if value is None or not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise CodecError(f"not a {bits}-bit number: {text[:40]!r}")
    return value


def _complete(message: M) -> M:
    if not message.IsInitialized():
        raise CodecError("a required field is missing")
    _check_strings(message)
    return message


def _check_strings(message: Message) -> None:
    """Raise CodecError if a string of the message is not UTF-8; the library returns such a string as bytes."""
    for field, value in message.ListFields():
        is_map = field.message_type is not None and field.message_type.GetOptions().map_entry
        if is_map:  # every map in these messages maps strings to strings
            values = [*value.keys(), *value.values()]
        else:
            values = [value] if isinstance(value, str | bytes | Message) else value
        if field.type == field.TYPE_MESSAGE and not is_map:
            for inner in values:
                _check_strings(inner)
        elif (is_map or field.type == field.TYPE_STRING) and not all(isinstance(text, str) for text in values):
            raise CodecError(f"{field.name} is not UTF-8")
