"""The generated protobuf code, imported after a check of the protobuf runtime.

Only the upb runtime is accepted.  The pure Python runtime is 20 times slower.  It also treats unknown enum values
differently, so that a bookie could not tell V2 frames from V3 frames.
"""

from typing import TypeVar

from google.protobuf.internal import api_implementation
from google.protobuf.message import DecodeError, Message

from ._pb import bookkeeper_pb2 as wire_pb

__all__ = ["parse", "require_upb", "text", "wire_pb"]

_M = TypeVar("_M", bound=Message)


def require_upb(runtime: str) -> None:
    """Check that protobuf runs on its upb implementation.

    :param runtime: the name of the implementation, as protobuf reports it.
    :raises ImportError: the implementation is not upb.
    """
    if runtime != "upb":
        raise ImportError(
            f"bookkeeper_twisted needs protobuf's upb runtime and found {runtime!r}: install a binary wheel of "
            "protobuf and do not set PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"
        )


require_upb(api_implementation.Type())


def parse(kind: type[_M], data: bytes | memoryview) -> _M | None:
    """Decode a message; return None if it is malformed or lacks a required field.  Java's parser refuses it, too.

    A required enum field with an unknown value counts as missing, as in Java.

    :param kind: the generated class of the message.
    :param data: the bytes of exactly one message.
    """
    try:
        message = kind.FromString(data)  # type: ignore[arg-type]  # any buffer works
    except DecodeError:
        return None
    return message if message.IsInitialized() else None


def text(value: str | bytes) -> str:
    """Return the ``value`` of a string field as text.

    For a string that is not valid UTF-8, upb returns bytes.  This function replaces the invalid parts, as Java does.
    """
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
