"""Every exception of the package, and the table between wire statuses and exceptions.

The class tree shows which side is at fault.  A :class:`BookieError` is the answer of a bookie and has a wire status;
a :class:`ClientError` is made by the client, a :class:`StorageError` by the engine under a bookie; a
:class:`MetadataError` comes from the metadata store; :class:`CodecError` is the only error that the codec raises.
``code`` is the public result code of Apache's client (``BKException.Code``), so that logs of both can be compared.
"""

import errno
from enum import IntEnum
from typing import ClassVar

import attrs

from .masking import without_credentials

NO_SPACE = (errno.ENOSPC, errno.EDQUOT)
"""Error numbers of a disk without space, for all users or for this one."""

NO_FILES = (errno.EMFILE, errno.ENFILE)
"""Error numbers of a process or machine without free file descriptors, which no disk is to blame for."""


class Status(IntEnum):
    """The status codes of V3 (``StatusCode``); :attr:`v2` is the code of V2."""

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
        """The V2 error code.  Java's V2 client does not know 107 and closes the connection on it, so
        an unknown ledger state is an I/O error in V2 (safety S5)."""
        return _V2_OF[self]

    @classmethod
    def from_v2(cls, code: int) -> "Status":
        """Return the status of a V2 error code.

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

    :cvar code: result code of Apache's client API for the same condition.
    """

    code: ClassVar[int] = -999


# ---- answers of a bookie ---------------------------------------------------------------------------


@attrs.define(eq=False)
class BookieError(BookKeeperError):
    """A bookie refused or failed one request.

    :ivar ledger_id: the requested ledger, -1 if the request has none.
    :ivar entry_id: the requested entry, -1 if the request has none.
    :ivar detail: further facts from the bookie or the client, may be empty.
    """

    status: ClassVar[Status]
    text: ClassVar[str] = "request failed"
    ledger_id: int = -1
    entry_id: int = -1
    detail: str = ""

    def __str__(self) -> str:
        where = f"ledger {self.ledger_id}" if self.ledger_id >= 0 else ""
        if self.entry_id >= 0:
            where += f" entry {self.entry_id}"
        return ": ".join(part for part in (self.text, where, self.detail) if part)


@attrs.define(eq=False)
class NoSuchLedgerError(BookieError):
    """The bookie knows for certain that it keeps no entry of the ledger (S5)."""

    status = Status.ENOLEDGER
    text = "no such ledger on this bookie"
    code = -7


@attrs.define(eq=False)
class NoSuchEntryError(BookieError):
    """The bookie knows for certain that it does not keep the entry (S5)."""

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
    """The bookie could not read or write; the entry may exist or not."""

    status = Status.EIO
    text = "I/O error at the bookie"
    code = -1


@attrs.define(eq=False)
class UnauthorizedAccessError(BookieError):
    """The password (master key) is wrong, or the client is not authenticated."""

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
    """The ledger was opened with recovery: its writer cannot add entries any more (S3)."""

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
    """The bookie refused the request because a limit of the bookie is reached (S11)."""

    status = Status.ETOOMANYREQUESTS
    text = "too many requests"
    code = -105


@attrs.define(eq=False)
class DataUnknownError(BookieError):
    """The bookie may have lost entries of this ledger, and does not know which entries it kept."""

    status = Status.EUNKNOWNLEDGERSTATE
    text = "state of the ledger is unknown"
    code = -108


ERROR_OF_STATUS: dict[Status, type[BookieError]] = {
    cls.status: cls
    for cls in (
        NoSuchLedgerError,
        NoSuchEntryError,
        BadRequestError,
        BookieIOError,
        UnauthorizedAccessError,
        ProtocolVersionError,
        LedgerFencedError,
        WriteOnReadOnlyBookieError,
        TooManyRequestsError,
        DataUnknownError,
    )
}


# ---- made by the client ------------------------------------------------------------------------------


class ClientError(BookKeeperError):
    """The base class of errors that the client itself detects."""


class IncorrectParameterError(ClientError, ValueError):
    """An argument is invalid; the text names it."""

    code = -14


class ReadError(ClientError):
    """A read failed for a reason that has no class, for example because the entry is beyond the LAC."""

    code = -1


class WriteError(ClientError):
    """An add failed for a reason that has no class of its own."""

    code = -12


class AddEntryQuorumTimeoutError(ClientError):
    """An entry did not reach its ack quorum in time."""

    code = -21


class DuplicateEntryIdError(ClientError):
    """The caller gave an entry id that is in use already."""

    code = -22


class IllegalOperationError(ClientError):
    """The handle or the wire protocol does not support this operation."""

    code = -100


class AutorecoveryDisabledError(IllegalOperationError):
    """Autorecovery is disabled in the cluster, so the requested work would never be done."""


class NoAuditorError(IllegalOperationError):
    """No auditor is elected, so the requested work would never be done."""


class LedgerClosedError(ClientError):
    """The handle or the ledger is closed."""

    code = -11


class ClientClosedError(ClientError):
    """The client, or the handle that made the request, was closed."""

    code = -19


class NotEnoughBookiesError(ClientError):
    """Fewer bookies are available than the ensemble needs."""

    code = -6


class BookieHandleNotAvailableError(ClientError):
    """The bookie could not be connected, or the connection was lost with the request outstanding."""

    code = -8


class RequestTimeoutError(ClientError):
    """No reply came in time.  The request may or may not have been executed."""

    code = -23


@attrs.define(eq=False)
class EntriesLostError(ClientError):
    """No registered bookie has undamaged copies of some entries.

    :ivar entry_ids: the first ids of such entries, ascending.
    :ivar detail: the reason why the first one cannot be read.
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
    """An entry has a wrong digest, ledger id or entry id (S18).

    :ivar entry_id: the first bad entry, -1 if the request named none; entries before it in the run are good.
    :ivar detail: the mistake in the entry.
    """

    code = -5
    ledger_id: int
    entry_id: int
    detail: str

    def __str__(self) -> str:
        return f"ledger {self.ledger_id} entry {self.entry_id}: {self.detail}"


@attrs.define(eq=False)
class SecurityError(ClientError):
    """The connection to a bookie could not be encrypted, or its certificate is not to be trusted."""

    code = -24
    detail: str

    def __str__(self) -> str:
        return self.detail


class LedgerRecoveryError(ClientError):
    """The ledger is not closed, and the recovery that would close it has failed or was not requested."""

    code = -10


class UnexpectedConditionError(ClientError):
    """The peer or this side broke a rule of the protocol."""

    code = -999


class MissingLibraryError(ClientError, ImportError):
    """An optional library is not installed; the text names the extra that installs it."""


# ---- the metadata store ------------------------------------------------------------------------------


class MetadataError(BookKeeperError):
    """The metadata store failed; the text gives the reason."""

    code = -9


class MetadataUnavailableError(MetadataError):
    """The metadata store did not answer in time, and did not execute the request."""


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
    """A compare-and-set failed, because another client has written the value since it was read."""

    code = -17


class MetadataSerializationError(MetadataError):
    """Stored metadata cannot be decoded, or a value cannot be encoded."""

    code = -107


class NotInitializedError(MetadataError):
    """The metadata store holds no cluster; the text names the command that makes one."""

    def __str__(self) -> str:
        return f"{super().__str__()}; bookkeeper-twisted shell initnewcluster makes a new, empty cluster"


class CookieNotFoundError(MetadataError):
    """No cookie is stored for the bookie."""


class CookieExistsError(MetadataError):
    """A cookie is stored for the bookie already."""


class NotUnderreplicatedError(MetadataError):
    """The ledger has no mark of under-replication."""


class LedgerLockedError(MetadataError):
    """Another worker holds the replication lock of the ledger."""


class BookieRegisteredError(MetadataError):
    """Another live session has registered the bookie id."""


# ---- storage -----------------------------------------------------------------------------------------


class StorageError(BookKeeperError):
    """The storage engine of a bookie failed; the text names file and offset if known."""


class DamageError(StorageError):
    """Bytes on disk are not the bytes that were written (S5, S9); never reported as "no such entry"."""


class LostLogError(DamageError):
    """An entry log is missing, so the entries that the index locates in this log are lost."""


class LogDamageError(DamageError):
    """An entry log does not hold the entries that its index names.

    :ivar log_id: id of the log.
    :ivar ledger_id: ledger of the entries ``first .. last``, which are a row of the index.
    """

    def __init__(self, text: str, log_id: int, ledger_id: int, first: int, last: int) -> None:
        super().__init__(text)
        self.log_id = log_id
        self.ledger_id = ledger_id
        self.first = first
        self.last = last


class JournalDamageError(DamageError):
    """A journal has lost records that were durable, so the bookie must not start (safety 3.3)."""


class InvalidCookieError(StorageError):
    """A directory belongs to another bookie or another cluster, or has no owner (S6)."""


class DirectoryLockedError(StorageError):
    """Another process serves the directory (S6)."""


class StorageFailedError(StorageError):
    """An earlier write, sync or rename failed, so the storage accepts no more entries (S10)."""


class NoWritableDirectoryError(StorageError):
    """No ledger directory can take data."""


# ---- codec, configuration, limits --------------------------------------------------------------------


class CodecError(BookKeeperError, ValueError):
    """Bytes from a peer or a file do not follow the format.  The codec raises no other error."""


class ConfigError(BookKeeperError, ValueError):
    """A configuration value cannot be used; the text names key, origin and reason."""


class NoSuchThrottleError(BookKeeperError, LookupError):
    """No limiter has this name; the text lists the known names."""


class NotServingError(BookKeeperError):
    """Only a bookie that serves requests can do this, but it is starting, stopping or stopped."""
