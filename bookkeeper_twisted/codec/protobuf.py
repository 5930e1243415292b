"""Imports the generated protobuf code, once we know the runtime under it can be used.

The pure Python runtime is 20 times slower and holds other opinions about unknown enum values, on which
the choice between V2 and V3 hangs.
"""

from typing import TypeVar

from google.protobuf.internal import api_implementation
from google.protobuf.message import DecodeError, Message

from ._pb import bookkeeper_pb2 as wire_pb

__all__ = ["parse", "require_upb", "text", "wire_pb"]

_M = TypeVar("_M", bound=Message)


def require_upb(runtime: str) -> None:
    """Check on which implementation protobuf runs.

    :param runtime: what protobuf calls it.
    :raises ImportError: it is another one than upb.
    """
    if runtime != "upb":
        raise ImportError(
            f"bookkeeper_twisted needs protobuf's upb runtime and found {runtime!r}: install a binary wheel of "
            "protobuf and do not set PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"
        )


require_upb(api_implementation.Type())


def parse(kind: type[_M], data: bytes | memoryview) -> _M | None:
    """Decode a message, or return None where Java's parser fails: broken bytes, or a required field missing.

    An unknown value of a required enum counts as missing; upb accepts such a message and only says that it is not
    initialized.

    :param kind: the generated class of the message.
    :param data: exactly one message.
    """
    try:
        message = kind.FromString(data)  # type: ignore[arg-type]  # any buffer will do
    except DecodeError:
        return None
    return message if message.IsInitialized() else None


def text(value: str | bytes) -> str:
    """Decode the ``value`` of a string field.

    upb gives bytes where they are no UTF-8; like Java we go on with what is readable.
    """
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
