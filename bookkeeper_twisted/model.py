"""The values that all layers share: ids, enumerations, ledger metadata."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from enum import IntEnum, IntFlag, StrEnum

import attrs

from .arguments import check_integer
from .errors import IncorrectParameterError
from .masking import masked

INVALID_ENTRY_ID = -1
"""The id of no entry; in a read request, of the last entry."""

MAX_ENTRY_ID = 2**63 - 1
"""The highest id of an entry: no entry follows it."""

_BOOKIE_ID = re.compile(r"[A-Za-z0-9\-.:;<=>?@\[\\\]^_]+")


class DigestType(IntEnum):
    """The types of digests that protect entries, with their numbers in ledger metadata."""

    CRC32 = 1
    HMAC = 2
    CRC32C = 3
    DUMMY = 4


def digest_type_of(digest_type: "DigestType | str") -> DigestType:
    """Return the digest type of a name.

    :param digest_type: a name such as ``"CRC32"``, or the type itself; Apache's ``"MAC"`` is HMAC.
    :raises IncorrectParameterError: no digest type has this name.
    """
    if isinstance(digest_type, DigestType):
        return digest_type
    known = {"MAC": DigestType.HMAC, **DigestType.__members__}
    if not isinstance(digest_type, str) or digest_type not in known:
        raise IncorrectParameterError(
            f"digest_type: {digest_type!r} was given, a DigestType or one of {', '.join(known)} is wanted"
        )
    return known[digest_type]


class LedgerState(IntEnum):
    """The states of a ledger: OPEN, then perhaps IN_RECOVERY, then CLOSED for ever (S15)."""

    OPEN = 1
    IN_RECOVERY = 2
    CLOSED = 3


class WriteFlag(IntFlag):
    """The flags of a writer; DEFERRED_SYNC adds are acknowledged before they are durable."""

    NONE = 0
    DEFERRED_SYNC = 1


MAX_LEDGER_ID = (1 << 63) - 1


def check_ledger_id(ledger_id: int) -> int:
    """Check that an argument is a ledger id, and return it.

    :raises IncorrectParameterError: the argument is not an integer, is below 0 or does not fit 63 bits.
    """
    check_integer("ledger_id", ledger_id)
    return ledger_id


def check_bookie_id(bookie_id: str) -> str:
    """Check that an argument is a bookie id, and return it.

    :raises IncorrectParameterError: the argument is not text, has a character that is not allowed in bookie ids, or is
        ``readonly`` (metadata.md 6).
    """
    if not isinstance(bookie_id, str) or not _BOOKIE_ID.fullmatch(bookie_id) or bookie_id.lower() == "readonly":
        raise IncorrectParameterError(f"not a bookie id: {bookie_id!r}")
    return bookie_id


_SHOWN = 64
"""Number of bytes of an entry that its ``repr`` shows."""


def _shortened(data: bytes) -> str:
    return repr(data) if len(data) <= _SHOWN else f"<{len(data)} bytes, {data[:_SHOWN]!r}...>"


@attrs.frozen
class Entry:
    """One entry as an application sees it.

    :ivar length: bytes of all payloads of the ledger up to and including this entry.
    :ivar last_add_confirmed: LAC of the writer when it sealed the entry.
    """

    ledger_id: int
    entry_id: int
    data: bytes = attrs.field(repr=_shortened)
    length: int
    last_add_confirmed: int


@attrs.frozen
class Segment:
    """The entries from ``first_entry_id`` onwards, and the ``bookies`` that keep them, by position in the ensemble."""

    first_entry_id: int
    bookies: tuple[str, ...]


@attrs.frozen
class LedgerMetadata:
    """The metadata of a ledger, as the metadata store keeps it.

    :ivar format_version: 1, 2 or 3; an update keeps the version that was read.
    :ivar ctime: ms since the epoch, or None if it is not stored.
    :ivar c_token: random number of the creating write, by which a retried create recognizes its own.
    :ivar has_password: False for data written without password and digest (version 1).
    """

    ensemble_size: int
    write_quorum_size: int
    ack_quorum_size: int
    segments: tuple[Segment, ...]
    state: LedgerState = LedgerState.OPEN
    length: int = 0
    last_entry_id: int = INVALID_ENTRY_ID
    digest_type: DigestType = DigestType.CRC32C
    password: bytes = attrs.field(default=b"", repr=masked)
    has_password: bool = True
    ctime: int | None = None
    custom_metadata: Mapping[str, bytes] = attrs.field(factory=dict)
    c_token: int = 0
    format_version: int = 3

    @property
    def closed(self) -> bool:
        return self.state is LedgerState.CLOSED

    @property
    def bookies(self) -> frozenset[str]:
        """The ids of the bookies of all ensembles."""
        return frozenset(bookie_id for segment in self.segments for bookie_id in segment.bookies)

    def ensemble_at(self, entry_id: int) -> tuple[str, ...]:
        """Return the ensemble of an entry: the ensemble of the last segment that begins at or before this entry.

        :param entry_id: an id before the first segment belongs to the first, an id beyond the end to the last.
        :returns: bookie ids by position.
        """
        starts = [s.first_entry_id for s in self.segments]
        return self.segments[max(bisect_right(starts, entry_id) - 1, 0)].bookies


class AuditorCheck(StrEnum):
    """The periodic checks of the auditor; each value is the name under which the last run is stored."""

    ALL_LEDGERS = "checkallledgersctime"
    PLACEMENT = "placementpolicycheckctime"
    REPLICAS = "replicascheckctime"


@attrs.frozen
class UnderreplicatedLedger:
    """The mark of a ledger that lacks replicas.

    :ivar replicas: ids of the bookies that are missing; may be empty.
    :ivar ctime: ms since the epoch, None if it is not stored.
    """

    replicas: tuple[str, ...] = ()
    ctime: int | None = None

    def with_replicas(self, replicas: Iterable[str], ctime: int | None) -> "UnderreplicatedLedger":
        """Return the mark with more missing replicas, and with the time at which they were found missing.

        :param replicas: ids of bookies.
        :param ctime: ms since the epoch, None for no time; it replaces the time of the mark.
        :returns: the same object, with its own time, if it names all of them already.
        """
        missing = tuple(replica for replica in dict.fromkeys(replicas) if replica not in self.replicas)
        return UnderreplicatedLedger(self.replicas + missing, ctime) if missing else self


@attrs.frozen
class Endpoint:
    """An address that a bookie publishes; clients use the endpoint with ``protocol == "bookie-rpc"``."""

    id: str
    host: str
    port: int
    protocol: str
    auth: tuple[str, ...] = ()
    extensions: tuple[str, ...] = ()


@attrs.frozen
class BookieServiceInfo:
    """The endpoints and properties that a bookie publishes with its registration."""

    endpoints: tuple[Endpoint, ...] = ()
    properties: Mapping[str, str] = attrs.field(factory=dict)
