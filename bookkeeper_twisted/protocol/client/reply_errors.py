"""From what a bookie answers to the error that a caller gets."""

from ...errors import ERROR_OF_STATUS, BookKeeperError, Status, UnexpectedConditionError


def error_of(status: Status, ledger_id: int, entry_id: int = -1) -> BookKeeperError:
    """The exception for a status that is not EOK."""
    return ERROR_OF_STATUS[status](ledger_id, entry_id)


def bare_error(status: Status) -> BookKeeperError:
    """The exception for a reply that has nothing but a status."""
    if status is Status.EOK:
        return UnexpectedConditionError("a reply without content says that it is a success")
    return error_of(status, -1)
