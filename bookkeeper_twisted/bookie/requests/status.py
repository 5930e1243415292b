"""The one table from errors to wire statuses."""

from twisted.internet.defer import CancelledError
from twisted.logger import Logger

from ...errors import BookieError, Status, StorageError

_log = Logger()


def status_of(error: BaseException) -> Status:
    """Return the wire status of an error.  An error that is not foreseen is logged and becomes a bad request."""
    if isinstance(error, BookieError):
        return error.status
    if isinstance(error, StorageError | OSError | CancelledError):
        return Status.EIO
    _log.error("unforeseen error: {error!r}", error=error)
    return Status.EBADREQ
