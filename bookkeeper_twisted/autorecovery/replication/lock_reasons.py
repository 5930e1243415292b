"""The text in the lock of a ledger, for people to read: its worker's host, and why the ledger is not repaired yet.

Apache's worker stores the name of its host, and its tools print what they find there.  Ours stores the name while it
works on the ledger, and a sentence while the ledger waits.
"""

from datetime import UTC, datetime

from ..interfaces import LedgerStatus

_STATES = {
    "grace": "left to its writer until {time}",
    "waiting": "waits until {time}",
    "impossible": "cannot be repaired, tried again at {time}",
}


def text_of(holder: str, status: LedgerStatus) -> str:
    """Return the text for the lock of a ledger.

    :param holder: host name of the worker.
    :param status: times in it are seconds since the epoch.
    """
    if status.next_attempt is None:
        return holder
    time = datetime.fromtimestamp(round(status.next_attempt), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return f"{holder}: {_STATES[status.state].format(time=time)}: {status.reason}"


def blocker_of(text: str) -> str:
    """Return why a locked ledger waits, from the ``text`` of its lock.

    The reason is a repair under way, or the sentence of the worker.
    """
    return f"held by {text}" if ": " in text else f"being repaired by {text}"
