"""Every exception of the package, and the one table between wire statuses and exceptions.

The tree says which side is at fault.  :class:`BookieError` and its children are answers of a bookie and have a wire
status; :class:`ClientError` are made by the client; :class:`StorageError` are made by the engine under a bookie;
:class:`MetadataError` come from the metadata store; :class:`CodecError` is the only thing the codec raises.  ``code``
is the public result code of Apache's client (``BKException.Code``), so that logs of both worlds can be compared.
"""

import errno
import re
from enum import IntEnum
from typing import ClassVar

import attrs

NO_SPACE = (errno.ENOSPC, errno.EDQUOT)
"""Error numbers of a disk that has no space, for anyone or for this user."""

NO_FILES = (errno.EMFILE, errno.ENFILE)
"""Error numbers of a process, or a machine, that has no file descriptor left: they say nothing about any disk."""

MASK = "******"
"""The text that is shown instead of a secret: a password, a key that is made of one, a credential."""


def masked(secret: object) -> str:
    """Return the ``repr`` of an attribute with a ``secret``: whether there is one, nothing else."""
    return MASK if secret else repr(secret)


_CREDENTIALS = re.compile(r"(?<=//)\S*(?=@)")
"""Up to the last ``@``: a password may have ``/``, ``,`` and ``@`` in it."""


def without_credentials(text: str) -> str:
    """Return a ``text`` with a mask for the user and password of each URI in it."""
    return _CREDENTIALS.sub(MASK, text)


class Status(IntEnum):
    """V3 status codes (``StatusCode``); :attr:`v2` gives the code of the older protocol."""

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
        """Return the V2 code; Java's V2 client drops its connection on 107, so that is an I/O error (safety S5)."""
        return _V2_OF[self]

    @classmethod
    def from_v2(cls, code: int) -> "Status":
        """Return the status of a V2 error code.

        :param code: as :attr:`v2` gives it.
        :raises ValueError: the code is not one of the protocol.
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
    """Base of everything this package raises on purpose.

    :cvar code: result code of Apache's client API for the same condition.
    """

    code: ClassVar[int] = -999


# ---- answers of a bookie ---------------------------------------------------------------------------


@attrs.define(eq=False)
class BookieError(BookKeeperError):
    """A bookie refused or failed one request.

    :ivar ledger_id: the ledger asked for, -1 where the request has none.
    :ivar entry_id: the entry asked for, -1 where the request has none.
    :ivar detail: what the bookie or the client knows beyond the class, may be empty.
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
    """The bookie knows for sure that it holds nothing of the ledger (S5)."""

    status = Status.ENOLEDGER
    text = "no such ledger on this bookie"
    code = -7


@attrs.define(eq=False)
class NoSuchEntryError(BookieError):
    """The bookie knows for sure that it does not hold the entry (S5)."""

    status = Status.ENOENTRY
    text = "no such entry"
    code = -13


@attrs.define(eq=False)
class BadRequestError(BookieError):
    """The request makes no sense to the bookie."""

    status = Status.EBADREQ
    text = "bad request"
    code = -14


@attrs.define(eq=False)
class BookieIOError(BookieError):
    """The bookie could not read or write; says nothing about whether the entry exists."""

    status = Status.EIO
    text = "I/O error at the bookie"
    code = -1


@attrs.define(eq=False)
class UnauthorizedAccessError(BookieError):
    """Wrong password (master key), or not authenticated."""

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
    """The ledger was opened with recovery: its writer may add no more (S3)."""

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
    """A limit of the bookie is reached (S11)."""

    status = Status.ETOOMANYREQUESTS
    text = "too many requests"
    code = -105


@attrs.define(eq=False)
class DataUnknownError(BookieError):
    """The bookie may have lost data of this ledger and cannot say what it held."""

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
    """Base of what the client itself finds wrong."""


class IncorrectParameterError(ClientError, ValueError):
    """An argument is out of its range; the text says which."""

    code = -14


class ReadError(ClientError):
    """A read failed for a reason that is not one of the others, for instance beyond the LAC."""

    code = -1


class WriteError(ClientError):
    """An add failed for a reason that is not one of the others."""

    code = -12


class AddEntryQuorumTimeoutError(ClientError):
    """An entry did not reach its ack quorum in time."""

    code = -21


class DuplicateEntryIdError(ClientError):
    """The caller gave an entry id that was taken before."""

    code = -22


class IllegalOperationError(ClientError):
    """The handle, or the wire protocol, cannot do this."""

    code = -100


class AutorecoveryDisabledError(IllegalOperationError):
    """Autorecovery is switched off in the cluster: what was asked for would never happen."""


class NoAuditorError(IllegalOperationError):
    """No auditor is elected: what was asked for would never happen."""


class LedgerClosedError(ClientError):
    """The handle, or the ledger, is closed."""

    code = -11


class ClientClosedError(ClientError):
    """The client was closed, or the handle that asked."""

    code = -19


class NotEnoughBookiesError(ClientError):
    """Fewer bookies are available than the ensemble needs."""

    code = -6


class BookieHandleNotAvailableError(ClientError):
    """No connection to the bookie, or it was lost with the request outstanding."""

    code = -8


class RequestTimeoutError(ClientError):
    """No reply in time.  The request may or may not have been executed."""

    code = -23


@attrs.define(eq=False)
class EntriesLostError(ClientError):
    """No registered bookie has some entries whole.

    :ivar entry_ids: the first of them, ascending.
    :ivar detail: why the first one cannot be read.
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
    """An entry's digest, ledger id or entry id is not what was asked for (S18).

    :ivar entry_id: the first bad entry, -1 where none was named; entries before it in the run are good.
    :ivar detail: what is wrong with it.
    """

    code = -5
    ledger_id: int
    entry_id: int
    detail: str

    def __str__(self) -> str:
        return f"ledger {self.ledger_id} entry {self.entry_id}: {self.detail}"


class LedgerRecoveryError(ClientError):
    """The ledger is open, and closing it needs a recovery that did not happen."""

    code = -10


class UnexpectedConditionError(ClientError):
    """A rule of the protocol was broken by the peer or by us."""

    code = -999


class MissingLibraryError(ClientError, ImportError):
    """An optional library is not installed; the text says which extra brings it."""


# ---- the metadata store ------------------------------------------------------------------------------


class MetadataError(BookKeeperError):
    """The metadata store failed; the text says how."""

    code = -9


class MetadataUnavailableError(MetadataError):
    """The metadata store did not answer in time; what was asked of it was not done."""


class MetadataOutcomeUnknownError(MetadataUnavailableError):
    """The metadata store did not answer in time; what was asked of it may have been done, or not."""


class MetadataSpaceError(MetadataError):
    """The disk of the metadata store has no space; nothing was stored."""


class InvalidMetadataUriError(MetadataError, ValueError):
    """No driver for the URI, or the driver cannot read it; credentials in the text are masked."""

    def __init__(self, text: str) -> None:
        super().__init__(without_credentials(text))


class NoSuchLedgerMetadataError(MetadataError):
    """The ledger does not exist."""

    code = -25


class LedgerExistsError(MetadataError):
    """A ledger with this id exists."""

    code = -20


class MetadataVersionError(MetadataError):
    """Compare-and-set lost: there was another write in between."""

    code = -17


class MetadataSerializationError(MetadataError):
    """Stored metadata cannot be read, or a value cannot be written."""

    code = -107


class NotInitializedError(MetadataError):
    """The metadata store holds no cluster; the text says what makes one."""

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
    """Another live session holds the bookie id."""


# ---- storage -----------------------------------------------------------------------------------------


class StorageError(BookKeeperError):
    """The engine under a bookie failed; the text names file and offset where there is one."""


class DamageError(StorageError):
    """Bytes on disk are not what was written (S5, S9): never reported as "no such entry"."""


class LostLogError(DamageError):
    """An entry log that the index names is gone, and with it the entries that the index says it holds."""


class LogDamageError(DamageError):
    """An entry log does not hold what its index says.

    :ivar log_id: of the log.
    :ivar ledger_id: of the entries ``first .. last``, which are a row of the index.
    """

    def __init__(self, text: str, log_id: int, ledger_id: int, first: int, last: int) -> None:
        super().__init__(text)
        self.log_id = log_id
        self.ledger_id = ledger_id
        self.first = first
        self.last = last


class JournalDamageError(DamageError):
    """A journal has lost records that were durable once: the bookie must not start (safety 3.3)."""


class InvalidCookieError(StorageError):
    """A directory belongs to another bookie, another cluster or to none (S6)."""


class DirectoryLockedError(StorageError):
    """Another process serves the directory (S6)."""


class StorageFailedError(StorageError):
    """An earlier write, sync or rename failed; nothing is accepted any more (S10)."""


class NoWritableDirectoryError(StorageError):
    """No ledger directory can take data."""


# ---- codec, configuration, limits --------------------------------------------------------------------


class CodecError(BookKeeperError, ValueError):
    """Bytes from a peer or a file do not follow the format.  The codec raises nothing else."""


class ConfigError(BookKeeperError, ValueError):
    """A configuration value cannot be used; the text says key, origin and reason."""


class NoSuchThrottleError(BookKeeperError, LookupError):
    """No limiter has this name; the text lists the known ones."""


class NotServingError(BookKeeperError):
    """A bookie that is starting, stopping or gone was asked what only one that serves can answer."""
