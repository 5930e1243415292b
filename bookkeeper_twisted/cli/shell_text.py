"""Formats and parses values as Apache's shell does, and converts the texts of errors to one printable line."""

import uuid
from base64 import b64encode
from collections.abc import Callable, Iterable

from ..arguments import hex_number, whole_number
from ..model import DigestType, LedgerMetadata

_DIGESTS = {DigestType.HMAC: "MAC"}
_UNKNOWN = "UNKNOWN"
_LONGEST_ERROR = 2000
"""Maximum number of characters of an error that are printed."""


def on_one_line(text: str) -> str:
    """Convert the ``text`` of an error, which may quote a file or an argument, to one printable line."""
    shown = printable(text[: _LONGEST_ERROR + 1])
    return shown if len(shown) <= _LONGEST_ERROR else f"{shown[:_LONGEST_ERROR]}..."


def line(message: str, **fields: object) -> str:
    """Format a ``message`` and its ``fields``: ``message {name=value, other=value}``."""
    if not fields:
        return message
    return f"{message} {{{', '.join(f'{name}={value}' for name, value in fields.items())}}}"


def printable(text: str) -> str:
    """Escape the characters of a ``text`` that are not printable, such as line ends and control characters."""
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def bookie_text(bookie_id: str, address: str | None, port: int | None, hostname: str | None) -> str:
    """Format a bookie id with the address, port and host name of the bookie.

    ``address``, ``port`` and ``hostname`` are None if the bookie ``bookie_id`` is not registered.
    """
    return (
        f"BookieID:{bookie_id}, IP:{_UNKNOWN if address is None else address}, Port:{port or 0}, "
        f"Hostname:{_UNKNOWN if hostname is None else hostname}"
    )


def metadata_fields(metadata: LedgerMetadata) -> dict[str, object]:
    """Return the fields of ``metadata`` by the names that Apache's shell prints; None if a value is not stored."""
    closed, protected = metadata.closed, metadata.has_password
    digest = _DIGESTS.get(metadata.digest_type, metadata.digest_type.name)
    return {
        "formatVersion": metadata.format_version,
        "ensembleSize": metadata.ensemble_size,
        "writeQuorumSize": metadata.write_quorum_size,
        "ackQuorumSize": metadata.ack_quorum_size,
        "state": metadata.state.name,
        "length": metadata.length if closed else None,
        "lastEntryId": metadata.last_entry_id if closed else None,
        "digestType": digest if protected else None,
        "password": metadata.password if protected else None,
        "ensembles": metadata.segments,
        "customMetadata": metadata.custom_metadata,
    }


def metadata_text(metadata: LedgerMetadata) -> str:
    """Format ``metadata`` of a ledger in one line.

    The line contains the password, because the user of the shell can read it in the metadata store, too.
    """
    fields = {name: value for name, value in metadata_fields(metadata).items() if value is not None}
    fields["ensembles"] = _braces(f"{s.first_entry_id}=[{', '.join(s.bookies)}]" for s in metadata.segments)
    custom = sorted(metadata.custom_metadata.items())
    fields["customMetadata"] = _braces(f"{key}={_base64(value)}" for key, value in custom)
    if metadata.has_password:
        fields["password"] = _base64(metadata.password)
    # Make all characters printable, because any client can store control characters in the custom metadata.
    return printable("LedgerMetadata" + _braces(f"{name}={value}" for name, value in fields.items()))


def _base64(data: bytes) -> str:
    return "base64:" + b64encode(data).decode("ascii")


def _braces(parts: Iterable[str]) -> str:
    return "{" + ", ".join(parts) + "}"


# ---- ledger ids --------------------------------------------------------------------------------------


def _uuid_of(ledger_id: int) -> str:
    return str(uuid.UUID(int=ledger_id & (1 << 64) - 1))


FORMAT_ID: dict[str, Callable[[int], str]] = {"long": str, "hex": "{:x}".format, "uuid": _uuid_of}
"""Maps each value of option ``-ledgeridformat`` to the function that formats a ledger id."""

def _id_of(text: str) -> int:
    if "_" in text or not text.isascii():
        raise ValueError("expected a UUID")
    return uuid.UUID(text).int & (1 << 64) - 1


PARSE_ID: dict[str, Callable[[str], int]] = {
    "long": whole_number,
    "hex": hex_number,
    "uuid": _id_of,
}
"""Maps each value of option ``-ledgeridformat`` to the function that parses a ledger id, or raises ValueError."""


# ---- entries -----------------------------------------------------------------------------------------


def _text_of(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _dump(data: bytes) -> str:
    """Return a hexadecimal dump with sixteen bytes per line: offset, bytes in hexadecimal, characters."""
    lines = []
    for start in range(0, len(data), 16):
        part = data[start : start + 16]
        shown = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in part)
        lines.append(f"{start:08X} {' '.join(f'{byte:02X}' for byte in part):47} {shown}")
    return "\n".join(lines)


FORMAT_ENTRY: dict[str, Callable[[bytes], str]] = {"string": _text_of, "hex": _dump}
"""Maps each value of option ``-entryformat`` to the function that formats the payload of an entry."""
