"""The errors of requests that a bookie has refused or not answered; each names the bookie, and what was asked for."""

from collections.abc import Sequence

from ...errors import (
    ERROR_OF_STATUS,
    BookieHandleNotAvailableError,
    RequestTimeoutError,
    Status,
    UnexpectedConditionError,
)


def refused(bookie_id: str, status: Status, ledger_id: int = -1, entry_id: int = -1) -> Exception:
    """Make the error of a request that a bookie has answered with an error.

    :param status: the status of the reply; EOK in a reply that cannot contain a result breaks the protocol.
    :param ledger_id: id of the requested ledger, -1 if it is not known.
    :param entry_id: id of the requested entry, -1 if there is none.
    """
    if status is Status.EOK:
        return UnexpectedConditionError(f"bookie {bookie_id} answered with an error response, and with the status EOK")
    return ERROR_OF_STATUS[status](ledger_id, entry_id, bookie_id=bookie_id)


def no_reply(bookie_id: str, asked: str, seconds: float) -> RequestTimeoutError:
    """Make the error of a request that a bookie has not answered in time.

    :param asked: what was asked for, for example ``an add of ledger 5 entry 3``.
    :param seconds: the time limit.
    """
    return RequestTimeoutError(f"bookie {bookie_id} gave no reply in {seconds:g} s to {asked}")


def wrong_reply(bookie_id: str, asked: str, reply: object) -> UnexpectedConditionError:
    """Make the error of a request that a bookie has answered with a ``reply`` to a request of another kind.

    :param asked: what was asked for.
    """
    return UnexpectedConditionError(f"bookie {bookie_id} answered {asked} with {type(reply).__name__}")


def broken_protocol(bookie_id: str, how: str) -> BookieHandleNotAvailableError:
    """Make the error of all requests on a connection that ends because the bookie broke the protocol.

    :param how: what the bookie did.
    """
    return BookieHandleNotAvailableError(f"bookie {bookie_id} broke the protocol: {how}")


def entries_text(ledger_id: int, entry_ids: Sequence[int]) -> str:
    """Return a text that names entries of one ledger.

    :param entry_ids: at least one id, in any order; -1 for the last entry.
    """
    first, last = min(entry_ids), max(entry_ids)
    if last < 0:
        return f"ledger {ledger_id} last entry"
    return f"ledger {ledger_id} entry {first}" if first == last else f"ledger {ledger_id} entries {first} to {last}"
