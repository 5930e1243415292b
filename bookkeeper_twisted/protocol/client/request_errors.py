"""The errors of requests that a bookie has refused; each names the bookie, and what was asked for."""

from ...errors import ERROR_OF_STATUS, Status, UnexpectedConditionError


def refused(bookie_id: str, status: Status, ledger_id: int = -1, entry_id: int = -1) -> Exception:
    """Make the error of a request that a bookie has answered with an error.

    :param status: the status of the reply; EOK in a reply that cannot contain a result breaks the protocol.
    :param ledger_id: id of the requested ledger, -1 if it is not known.
    :param entry_id: id of the requested entry, -1 if there is none.
    """
    if status is Status.EOK:
        return UnexpectedConditionError(f"bookie {bookie_id} answered with an error response, and with the status EOK")
    return ERROR_OF_STATUS[status](ledger_id, entry_id, bookie_id=bookie_id)
