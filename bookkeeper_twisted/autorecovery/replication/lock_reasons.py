"""The text of a replication lock, for people to read: the worker's host, and why the ledger is not repaired yet.

Apache's worker stores only the name of its host, but Apache's tools print any text.  The worker here stores the name of
its host while it repairs the ledger, and also a reason while the ledger waits.
"""

from datetime import UTC, datetime

from ..interfaces import LedgerStatus

_STATES = {
    "grace": "left to its writer until {time}",
    "waiting": "waits until {time}",
    "impossible": "cannot be repaired, tried again at {time}",
}


def text_of(holder: str, status: LedgerStatus) -> str:
    """Return the text for the replication lock of a ledger.

    :param holder: host name of the worker.
    :param status: status of the ledger, with times in seconds since the epoch.
    """
    if status.next_attempt is None:
        return holder
    time = datetime.fromtimestamp(round(status.next_attempt), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return f"{holder}: {_STATES[status.state].format(time=time)}: {status.reason}"


def blocker_of(text: str) -> str:
    """Explain, from the ``text`` of its replication lock, why a locked ledger is not repaired yet.

    If the text contains no reason of the worker, the repair is in progress.
    """
    return f"held by {text}" if ": " in text else f"being repaired by {text}"
