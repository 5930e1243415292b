"""Values that all layers use: ids, enumerations and ledger metadata."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from enum import IntEnum, IntFlag, StrEnum
from typing import NamedTuple

import attrs

from .arguments import check_integer
from .errors import IncorrectParameterError
from .masking import masked

INVALID_ENTRY_ID = -1
"""An id that no entry has; in a read request it stands for the last entry."""

MAX_ENTRY_ID = 2**63 - 1
"""The highest possible entry id."""

_BOOKIE_ID = re.compile(r"[A-Za-z0-9\-.:;<=>?@\[\\\]^_]+")


class DigestType(IntEnum):
    """The types of the digests that protect entries; each value is the number of the type in ledger metadata."""

    CRC32 = 1
    HMAC = 2
    CRC32C = 3
    DUMMY = 4


def digest_type_of(digest_type: "DigestType | str") -> DigestType:
    """Return the digest type with a given name.

    :param digest_type: a name such as ``"CRC32"``, or the type itself; ``"MAC"`` is Apache's name for HMAC.
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
    """The state of a ledger: first OPEN, maybe IN_RECOVERY, finally CLOSED; never the reverse."""

    OPEN = 1
    IN_RECOVERY = 2
    CLOSED = 3


class WriteFlag(IntFlag):
    """Flags of a ledger writer.  With DEFERRED_SYNC, bookies acknowledge adds before they are durable."""

    NONE = 0
    DEFERRED_SYNC = 1


MAX_LEDGER_ID = (1 << 63) - 1


def check_ledger_id(ledger_id: int) -> int:
    """Check that an argument is a ledger id, and return it.

    :raises IncorrectParameterError: the argument is not an integer from 0 to 2**63 - 1.
    """
    check_integer("ledger_id", ledger_id)
    return ledger_id


def check_bookie_id(bookie_id: str) -> str:
    """Check that an argument is a bookie id, and return it.

    :raises IncorrectParameterError: the argument is not text, has a character that is not allowed in bookie ids, or is
        ``readonly``, which in ZooKeeper is the name of the parent node of read-only bookies.
    """
    if not isinstance(bookie_id, str) or not _BOOKIE_ID.fullmatch(bookie_id) or bookie_id.lower() == "readonly":
        raise IncorrectParameterError(f"not a bookie id: {bookie_id!r}")
    return bookie_id


_SHOWN = 64
"""Maximum number of bytes of an entry's data that ``repr`` shows."""


class Entry(NamedTuple):
    """One entry of a ledger, for an application.

    It is a tuple because a reader may get a million of them a second: Python makes and frees a tuple three times as
    fast as an object with attributes.

    :ivar length: total size in bytes of the payloads of this entry and of all earlier entries in the ledger.
    :ivar last_add_confirmed: LAC of the writer when it sent the entry.
    """

    ledger_id: int
    entry_id: int
    data: bytes
    length: int
    last_add_confirmed: int

    def __repr__(self) -> str:
        size = len(self.data)
        shown = repr(self.data) if size <= _SHOWN else f"<{size} bytes, {self.data[:_SHOWN]!r}...>"
        return (
            f"Entry(ledger_id={self.ledger_id}, entry_id={self.entry_id}, data={shown}, length={self.length}, "
            f"last_add_confirmed={self.last_add_confirmed})"
        )


@attrs.frozen
class Segment:
    """Consecutive entries of a ledger that have the same ensemble; a segment ends where the next segment begins.

    :ivar bookies: the ensemble.
    """

    first_entry_id: int
    bookies: tuple[str, ...]


@attrs.frozen
class LedgerMetadata:
    """The metadata of a ledger, which the metadata store keeps.

    :ivar format_version: version of the stored format, 1 to 3; an update of the metadata does not change it.
    :ivar ctime: creation time in ms since the epoch; None if it is not stored.
    :ivar c_token: random number in the request to create the ledger.  If the creator has to repeat the request, it
        recognizes by this number that the first request succeeded.
    :ivar has_password: False if the stored metadata have no password and no digest type (format version 1).
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
        """The ids of all bookies in all ensembles of the ledger."""
        return frozenset(bookie_id for segment in self.segments for bookie_id in segment.bookies)

    def ensemble_at(self, entry_id: int) -> tuple[str, ...]:
        """Return the ensemble of an entry: the bookies of the last segment that begins at the entry or before it.

        :param entry_id: id of the entry, which need not exist.
        :returns: bookie ids, by position in the ensemble.
        """
        starts = [s.first_entry_id for s in self.segments]
        return self.segments[max(bisect_right(starts, entry_id) - 1, 0)].bookies


class AuditorCheck(StrEnum):
    """The periodic checks of the auditor.

    The metadata store keeps the time of the last check of each kind; the value of a member is the key of this time.
    """

    ALL_LEDGERS = "checkallledgersctime"
    PLACEMENT = "placementpolicycheckctime"
    REPLICAS = "replicascheckctime"


@attrs.frozen
class UnderreplicatedLedger:
    """The underreplicated mark of a ledger: some of its replicas are missing.

    :ivar replicas: ids of the bookies whose replicas are missing; empty if these bookies are unknown.
    :ivar ctime: time of the underreplicated mark in ms since the epoch; None if it is not stored.
    :ivar problem: why the stored mark cannot be decoded, so that its bookies and its time are unknown; empty if it can.
    :ivar stored: the bytes of a mark that cannot be decoded; they are kept when the ledger is marked again.
    """

    replicas: tuple[str, ...] = ()
    ctime: int | None = None
    problem: str = ""
    stored: bytes = b""

    def with_replicas(self, replicas: Iterable[str], ctime: int | None) -> "UnderreplicatedLedger":
        """Return a mark that has the bookies ``replicas`` in addition, and the time of this mark.

        If this mark already has all of these bookies, it is returned unchanged; so is one that cannot be decoded, as
        any bookie of the ledger may be in it.

        :param replicas: ids of the bookies whose replicas are missing.
        :param ctime: time in ms since the epoch for the new mark if this mark has none; None for no time.
        """
        if self.problem:
            return self
        missing = tuple(replica for replica in dict.fromkeys(replicas) if replica not in self.replicas)
        since = ctime if self.ctime is None else self.ctime
        return UnderreplicatedLedger(self.replicas + missing, since) if missing else self


@attrs.frozen
class Endpoint:
    """An address that a bookie publishes; clients connect to the address with ``protocol == "bookie-rpc"``."""

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
