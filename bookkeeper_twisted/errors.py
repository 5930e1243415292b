"""Every exception of the package, and the table between wire statuses and exceptions.

The base class of an exception shows where the error comes from.  A bookie answers with a :class:`BookieError`, which
has a wire status.  The client itself raises a :class:`ClientError`.  The storage engine of a bookie raises a
:class:`StorageError`.  A :class:`MetadataError` comes from the metadata store.  The codec raises only
:class:`CodecError`.  ``code`` is the public result code of Apache's client (``BKException.Code``), so that users can
compare logs of both clients.
"""

import errno
from enum import IntEnum
from typing import ClassVar

import attrs

from .masking import without_credentials

NO_SPACE = (errno.ENOSPC, errno.EDQUOT)
"""The ``errno`` values for a full disk or an exhausted disk quota."""

NO_FILES = (errno.EMFILE, errno.ENFILE)
"""The ``errno`` values for a lack of file descriptors in this process or on this machine."""


class Status(IntEnum):
    """The status codes of replies in protocol V3 (``StatusCode``); :attr:`v2` is the error code of V2."""

    EOK = 0
    ENOLEDGER = 402
    ENOENTRY = 403
    EBADREQ = 404
    EIO = 501
    EUA = 502
    EBADVERSION = 503
    EFENCED = 504
    EREADONLY = 505
    ETOOMANYREQUESTS = 506
    EUNKNOWNLEDGERSTATE = 507

    @property
    def v2(self) -> int:
        """The error code in protocol V2.

        In V2, an unknown ledger state is sent as an I/O error, because Java's V2 client does not know code 107 and
        would close the connection.
        """
        return _V2_OF[self]

    @classmethod
    def from_v2(cls, code: int) -> "Status":
        """Return the status for an error code of protocol V2.

        :param code: the error code on the wire.
        :raises ValueError: the protocol has no such code.
        """
        try:
            return _OF_V2[code]
        except KeyError:
            raise ValueError(f"unknown V2 error code {code}") from None


_V2_OF = {
    Status.EOK: 0, Status.ENOLEDGER: 1, Status.ENOENTRY: 2, Status.EBADREQ: 100, Status.EIO: 101, Status.EUA: 102,
    Status.EBADVERSION: 103, Status.EFENCED: 104, Status.EREADONLY: 105, Status.ETOOMANYREQUESTS: 106,
    Status.EUNKNOWNLEDGERSTATE: 101,
}  # fmt: skip
_OF_V2 = {code: status for status, code in _V2_OF.items()} | {101: Status.EIO, 107: Status.EUNKNOWNLEDGERSTATE}


class BookKeeperError(Exception):
    """The base class of all errors that this package raises on purpose.

    :cvar code: result code of Apache's client API for the same error.
    """

    code: ClassVar[int] = -999


# ---- answers of a bookie ---------------------------------------------------------------------------


@attrs.define(eq=False)
class BookieError(BookKeeperError):
    """A bookie answered a request with an error.

    :ivar ledger_id: id of the requested ledger, -1 if the request names none.
    :ivar entry_id: id of the requested entry, -1 if the request names none.
    :ivar detail: more about the error, from the bookie or the client; may be empty.
    :ivar bookie_id: the bookie that answered; may be empty.
    """

    status: ClassVar[Status]
    text: ClassVar[str] = "request failed"
    ledger_id: int = -1
    entry_id: int = -1
    detail: str = ""
    bookie_id: str = ""

    def __str__(self) -> str:
        where = f"ledger {self.ledger_id}" if self.ledger_id >= 0 else ""
        if self.entry_id >= 0:
            where += f" entry {self.entry_id}"
        bookie = f"bookie {self.bookie_id}" if self.bookie_id else ""
        where = ", ".join(part for part in (where, bookie) if part)
        return ": ".join(part for part in (self.text, where, self.detail) if part)


@attrs.define(eq=False)
class NoSuchLedgerError(BookieError):
    """The bookie knows for certain that it keeps no entry of the ledger."""

    status = Status.ENOLEDGER
    text = "no such ledger on this bookie"
    code = -7


@attrs.define(eq=False)
class NoSuchEntryError(BookieError):
    """The bookie knows for certain that it does not keep the entry."""

    status = Status.ENOENTRY
    text = "no such entry"
    code = -13


@attrs.define(eq=False)
class BadRequestError(BookieError):
    """The bookie does not understand the request."""

    status = Status.EBADREQ
    text = "bad request"
    code = -14


@attrs.define(eq=False)
class BookieIOError(BookieError):
    """The bookie failed to read or write; the entry may or may not exist."""

    status = Status.EIO
    text = "I/O error at the bookie"
    code = -1


@attrs.define(eq=False)
class UnauthorizedAccessError(BookieError):
    """The password (master key) is wrong, the client is not authenticated, or rules do not allow the request."""

    status = Status.EUA
    text = "unauthorized access"
    code = -102


@attrs.define(eq=False)
class ProtocolVersionError(BookieError):
    """The bookie does not speak the version of the request."""

    status = Status.EBADVERSION
    text = "protocol version not supported"
    code = -16


@attrs.define(eq=False)
class LedgerFencedError(BookieError):
    """The ledger was opened with recovery: its writer cannot add entries any more."""

    status = Status.EFENCED
    text = "ledger is fenced"
    code = -101


@attrs.define(eq=False)
class WriteOnReadOnlyBookieError(BookieError):
    """The bookie is read-only."""

    status = Status.EREADONLY
    text = "bookie is read-only"
    code = -104


@attrs.define(eq=False)
class TooManyRequestsError(BookieError):
    """The bookie refused the request because a limit of the bookie is reached."""

    status = Status.ETOOMANYREQUESTS
    text = "too many requests"
    code = -105


@attrs.define(eq=False)
class DataUnknownError(BookieError):
    """The bookie may have lost entries of this ledger and does not know which."""

    status = Status.EUNKNOWNLEDGERSTATE
    text = "state of the ledger is unknown"
    code = -108


ERROR_OF_STATUS: dict[Status, type[BookieError]] = {
    cls.status: cls
    for cls in (
        NoSuchLedgerError, NoSuchEntryError, BadRequestError, BookieIOError, UnauthorizedAccessError,
        ProtocolVersionError, LedgerFencedError, WriteOnReadOnlyBookieError, TooManyRequestsError, DataUnknownError,
    )
}  # fmt: skip


# ---- made by the client ------------------------------------------------------------------------------


class ClientError(BookKeeperError):
    """The base class of errors that the client itself detects."""


class IncorrectParameterError(ClientError, ValueError):
    """An argument is invalid; the text names the parameter."""

    code = -14


class ReadError(ClientError):
    """A read failed for a reason without a class of its own, for example because the entry is beyond the LAC."""

    code = -1


class WriteError(ClientError):
    """An add failed for a reason without an exception class of its own."""

    code = -12


class AddEntryQuorumTimeoutError(ClientError):
    """An entry did not reach its ack quorum in time."""

    code = -21


class DuplicateEntryIdError(ClientError):
    """The caller passed an entry id that was used before."""

    code = -22


class IllegalOperationError(ClientError):
    """The handle or the wire protocol does not support this operation."""

    code = -100


class AutorecoveryDisabledError(IllegalOperationError):
    """Autorecovery is disabled in the cluster, so the requested work would never be done."""


class NoAuditorError(IllegalOperationError):
    """No auditor is elected, so the requested work would never be done."""


class LedgerClosedError(ClientError):
    """The ledger is closed, or the handle that was used is closed."""

    code = -11


class ClientClosedError(ClientError):
    """The client, or the handle that made the request, was closed."""

    code = -19


class NotEnoughBookiesError(ClientError):
    """Fewer bookies can be used than the ensemble needs."""

    code = -6


class BookieHandleNotAvailableError(ClientError):
    """The client could not connect to the bookie, or lost the connection before a reply came."""

    code = -8


class RequestTimeoutError(ClientError):
    """No reply came in time; the bookie may or may not have executed the request."""

    code = -23


@attrs.define(eq=False)
class EntriesLostError(ClientError):
    """Some entries are lost: no registered bookie has an undamaged copy.

    :ivar entry_ids: ids of the first lost entries, ascending.
    :ivar detail: the reason why the first lost entry cannot be read.
    """

    code = -10
    ledger_id: int
    entry_ids: tuple[int, ...]
    detail: str

    def __str__(self) -> str:
        more = f" and {len(self.entry_ids) - 1} more" if len(self.entry_ids) > 1 else ""
        return f"no bookie has ledger {self.ledger_id} entry {self.entry_ids[0]}{more}: {self.detail}"


@attrs.define(eq=False)
class DigestMatchError(ClientError):
    """An entry has a wrong digest, ledger id or entry id.

    :ivar entry_id: id of the first bad entry; -1 if the request named no entry.  Entries before it in the same reply
        are good.
    :ivar detail: what is wrong with the entry.
    """

    code = -5
    ledger_id: int
    entry_id: int
    detail: str

    def __str__(self) -> str:
        return f"ledger {self.ledger_id} entry {self.entry_id}: {self.detail}"


@attrs.define(eq=False)
class SecurityError(ClientError):
    """The connection to a bookie could not be encrypted, or the bookie's certificate is not trusted."""

    code = -24
    detail: str

    def __str__(self) -> str:
        return self.detail


class LedgerRecoveryError(ClientError):
    """The ledger is not closed, because its recovery failed, or because the caller did not ask for a recovery."""

    code = -10


class UnexpectedConditionError(ClientError):
    """The peer or this process did something that the protocol does not allow."""

    code = -999


class MissingLibraryError(ClientError, ImportError):
    """An optional library is not installed; the text names the extra that installs it."""


# ---- the metadata store ------------------------------------------------------------------------------


class MetadataError(BookKeeperError):
    """The metadata store failed; the text gives the reason."""

    code = -9


class MetadataUnavailableError(MetadataError):
    """The metadata store cannot be reached or is locked; it did not execute the request."""


class MetadataOutcomeUnknownError(MetadataUnavailableError):
    """The metadata store did not answer in time, and may or may not have executed the request."""


class MetadataSpaceError(MetadataError):
    """The disk of the metadata store has no space; nothing was stored."""


class InvalidMetadataUriError(MetadataError, ValueError):
    """No driver knows the URI, or its driver cannot parse it; credentials in the text are masked."""

    def __init__(self, text: str) -> None:
        super().__init__(without_credentials(text))


class NoSuchLedgerMetadataError(MetadataError):
    """The ledger does not exist."""

    code = -25


class LedgerExistsError(MetadataError):
    """A ledger with this id exists."""

    code = -20


class MetadataVersionError(MetadataError):
    """A compare-and-set failed, because another client has changed the stored value since it was read."""

    code = -17


class MetadataSerializationError(MetadataError):
    """Stored metadata cannot be decoded, or may not be read by this client, or a value cannot be encoded."""

    code = -107


class NotInitializedError(MetadataError):
    """The metadata store contains no cluster; the text names the command that creates one."""

    def __str__(self) -> str:
        return f"{super().__str__()}; bookkeeper-twisted shell initnewcluster makes a new, empty cluster"


class CookieNotFoundError(MetadataError):
    """No cookie is stored for the bookie."""


class CookieExistsError(MetadataError):
    """A cookie is stored for the bookie already."""


class NotUnderreplicatedError(MetadataError):
    """The ledger has no underreplicated mark."""


class LedgerLockedError(MetadataError):
    """Another worker holds the replication lock of the ledger."""


class BookieRegisteredError(MetadataError):
    """Another process is registered in the metadata store with the same bookie id."""


# ---- storage -----------------------------------------------------------------------------------------


class StorageError(BookKeeperError):
    """The storage engine of a bookie failed; the text names file and offset if known."""


class DamageError(StorageError):
    """Bytes on disk are damaged.  A bookie never reports a damaged entry as a missing entry."""


class LostLogError(DamageError):
    """An entry log to which the index refers is missing, so its entries are lost."""


class LogDamageError(DamageError):
    """An entry log does not contain the entries ``first .. last`` of a ledger at the offset that the index has.

    :ivar log_id: id of the entry log.
    :ivar ledger_id: id of the ledger.
    """

    def __init__(self, text: str, log_id: int, ledger_id: int, first: int, last: int) -> None:
        super().__init__(text)
        self.log_id = log_id
        self.ledger_id = ledger_id
        self.first = first
        self.last = last


class JournalDamageError(DamageError):
    """A journal has lost records that had been synced, so the bookie must not start."""


class InvalidCookieError(StorageError):
    """The cookie in a directory is missing, or is that of another bookie or cluster."""


class DirectoryLockedError(StorageError):
    """Another process uses the directory and has locked it."""


class StorageFailedError(StorageError):
    """An earlier write, sync or rename failed, so the storage accepts no more entries."""


class NoWritableDirectoryError(StorageError):
    """No ledger directory is writable, for example because all disks are full."""


# ---- codec, configuration, limits --------------------------------------------------------------------


class CodecError(BookKeeperError, ValueError):
    """Bytes from a peer or a file do not follow the format.  The codec raises no other error."""


class ConfigError(BookKeeperError, ValueError):
    """A configuration value is invalid; the text contains the key, where the value comes from, and the reason."""


class NoSuchThrottleError(BookKeeperError, LookupError):
    """No speed limiter has this name; the text lists the known names."""


class NotServingError(BookKeeperError):
    """The call needs a bookie that serves requests, but this bookie is starting, stopping or stopped."""
