"""The text of a replication lock, for people to read: the worker's host, and why the ledger is not repaired yet.

Apache's worker stores only the name of its host in the lock, but Apache's tools print any text.  While the ledger waits
for another attempt, the worker of this package stores the name of its host and the reason.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime

from ..interfaces import LedgerStatus

_STATES = {
    "grace": "left to its writer until {time}",
    "waiting": "waits until {time}",
    "impossible": "cannot be repaired, tried again at {time}",
}

_HELD = re.compile(r": (?:left to its writer|waits) until (\d{4}-\d\d-\d\dT[\d:]+Z)")
_TRIED = re.compile(r"(?<=: cannot be repaired, tried again )at (\d{4}-\d\d-\d\dT[\d:]+Z)")
_IMPOSSIBLE = re.compile(r"(?:^|: )cannot be repaired\b")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")
_NUMBER = re.compile(r"(?<![\w.:/-])\d+(?:-\d+)?(?![\w.:/-]*\w)")
_WORKER = re.compile(r"\b(held|being repaired) by \S+?(?=: |$)")


def text_of(holder: str, status: LedgerStatus) -> str:
    """Return the text for the replication lock of a ledger.

    :param holder: host name of the worker.
    :param status: status of the ledger, with times in seconds since the epoch.
    """
    if status.next_attempt is None:
        return holder
    time = datetime.fromtimestamp(round(status.next_attempt), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return f"{holder}: {_STATES[status.state].format(time=time)}: {status.reason}"


def reason_of(text: str) -> str:
    """Return the reason in the ``text`` of a replication lock, without the host and the time of the next attempt.

    Ledgers that wait for the same have the same reason.  If the text has no reason, the result is empty.
    """
    _, _, said = text.partition(": ")
    return said.partition(": ")[2] or said


def blocker_of(text: str) -> str:
    """Return, from the ``text`` of a replication lock, why the locked ledger is not repaired yet.

    If the text has no reason, the repair is in progress.
    """
    return f"held by {text}" if ": " in text else f"being repaired by {text}"


def without_past(text: str, now: float) -> str:
    """Return the ``text`` of a replication lock, or a reason with it, without a time that is past.

    When the time of a ledger has come, the ledger waits for a free worker, but the text of its lock stays.

    :param now: the present time, in seconds since the epoch.
    """
    for pattern, present in ((_HELD, ": waits for a free worker"), (_TRIED, "soon")):
        found = pattern.search(text)
        if found and datetime.strptime(found[1], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC).timestamp() <= now:
            text = text[: found.start()] + present + text[found.end() :]
    return text


def obstacle_of(blockers: Mapping[int, str]) -> str:
    """Return why nobody can say when a decommission ends, or before which time it does not; else an empty text.

    :param blockers: for each ledger that it waits for, the reason, without times that are past.
    """
    reasons = set(blockers.values())  # a hundred thousand ledgers have some hundred reasons
    never = {reason for reason in reasons if _IMPOSSIBLE.search(reason)}
    if never:
        impossible = [ledger_id for ledger_id, reason in blockers.items() if reason in never]
        return (
            f"cannot end: {ledgers(len(impossible))} cannot be repaired, as ledger {impossible[0]}: "
            f"{reason_of(blockers[impossible[0]])}"
        )
    times = {reason: found[1] for reason in reasons if (found := _HELD.search(reason))}
    if times:
        others = {ledger_id: reason for ledger_id, reason in blockers.items() if reason not in times}
        kinds = "".join(f"; {len(ids)} more: {kind_of(example)}" for example, ids in by_kind(others))
        count = len(blockers) - len(others)
        wait = "waits for its time" if count == 1 else "wait for their times"
        return f"does not end before {max(times.values())}: {ledgers(count)} {wait}{kinds}"
    return ""


def ledgers(count: int) -> str:
    """Return a ``count`` of ledgers in words."""
    return f"{count:,} {'ledger' if count == 1 else 'ledgers'}"


def kind_of(reason: str) -> str:
    """Return a ``reason`` without what differs from ledger to ledger: ids, other numbers, times and the worker's host.

    Ledgers that wait for the same have reasons of the same kind.  Ids of bookies stay.
    """
    return _NUMBER.sub("...", _TIME.sub("a time", _WORKER.sub(r"\1 by a worker", reason)))


def by_kind(reasons: Mapping[int, str]) -> list[tuple[str, list[int]]]:
    """Group ledgers by the kind of their reason.

    :param reasons: reasons by ledger id.
    :returns: for each kind the reason of its first ledger, as an example, and the ids of its ledgers; the kind with
        the most ledgers first.
    """
    kind = {reason: kind_of(reason) for reason in set(reasons.values())}  # most ledgers of very many have one reason
    kinds: dict[str, list[int]] = {}
    for ledger_id, reason in reasons.items():
        kinds.setdefault(kind[reason], []).append(ledger_id)
    return [(reasons[ids[0]], ids) for ids in sorted(kinds.values(), key=len, reverse=True)]
