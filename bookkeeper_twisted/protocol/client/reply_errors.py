"""From what a bookie answers to the error that a caller gets."""

from ...errors import ERROR_OF_STATUS, BookKeeperError, Status, UnexpectedConditionError


def error_of(status: Status, ledger_id: int, entry_id: int = -1) -> BookKeeperError:
    """Make the exception for a status that is not EOK.

    :param entry_id: -1 where the request is about no single entry.
    :raises KeyError: ``status`` is EOK.
    """
    return ERROR_OF_STATUS[status](ledger_id, entry_id)


def bare_error(status: Status) -> BookKeeperError:
    """Make the exception for a reply that has a ``status`` and nothing else, so that even EOK is an error."""
    if status is Status.EOK:
        return UnexpectedConditionError("a reply without content says that it is a success")
    return error_of(status, -1)
