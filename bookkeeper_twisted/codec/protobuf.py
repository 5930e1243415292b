"""The import of the generated protobuf code, after a check that the protobuf runtime can be used.

The pure Python runtime is 20 times slower and treats unknown enum values differently, on which the choice
between V2 and V3 depends.
"""

from typing import TypeVar

from google.protobuf.internal import api_implementation
from google.protobuf.message import DecodeError, Message

from ._pb import bookkeeper_pb2 as wire_pb

__all__ = ["parse", "require_upb", "text", "wire_pb"]

_M = TypeVar("_M", bound=Message)


def require_upb(runtime: str) -> None:
    """Check that protobuf runs on its upb implementation.

    :param runtime: the name that protobuf gives the implementation.
    :raises ImportError: it is not upb.
    """
    if runtime != "upb":
        raise ImportError(
            f"bookkeeper_twisted needs protobuf's upb runtime and found {runtime!r}: install a binary wheel of "
            "protobuf and do not set PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"
        )


require_upb(api_implementation.Type())


def parse(kind: type[_M], data: bytes | memoryview) -> _M | None:
    """Decode a message, or return None if Java's parser fails: the bytes are malformed, or a required field is missing.

    An unknown value of a required enum counts as missing; upb accepts such a message and only reports that it is not
    initialized.

    :param kind: the generated class of the message.
    :param data: exactly one message.
    """
    try:
        message = kind.FromString(data)  # type: ignore[arg-type]  # any buffer works
    except DecodeError:
        return None
    return message if message.IsInitialized() else None


def text(value: str | bytes) -> str:
    """Decode the ``value`` of a string field.

    upb returns bytes if they are not UTF-8; like Java we replace the unreadable ones.
    """
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
