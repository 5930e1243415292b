"""The audit log: a record of fences, recoveries, deletions and administrative requests, and of refused requests.

Each line is a JSON object.  Lines wait in a queue of bounded length until a worker thread writes them.  If the queue is
full, new lines are dropped and counted, and a later line contains the number of dropped lines.  The refusals of one
principal within a second are combined in one line, with their number.
"""

import json
from collections import OrderedDict
from collections.abc import Callable
from datetime import UTC, datetime

from twisted.internet.defer import Deferred, succeed
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from ..security.principals import Principal
from .audit_file import AuditFile
from .interfaces import Permission

MOST_QUEUED = 10_000
"""Maximum number of audit log lines in the queue."""

INTERVAL = 1.0
"""Minimum number of seconds between two lines about refusals of the same principal."""

_MOST_PRINCIPALS = 1_000
_MOST_NAME = 256
_QUIET = 60.0

Submit = Callable[..., "Deferred[int]"]
"""A function that calls a function with arguments on a worker thread, and returns a Deferred for the result."""


class _Refusals:
    """The refusals of one principal that were not yet written to the audit log: their number, and the last refusal."""

    __slots__ = ("began", "count", "last")

    def __init__(self, began: float) -> None:
        self.began = began
        self.count = 0
        self.last: tuple[str, Permission, int | None] = ("", Permission.INFO, None)


class AuditLog:
    """The audit log of one process.  Its methods are called on the reactor thread.

    :param submit: runs functions on a worker thread, one at a time.
    :ivar lost: number of lines lost so far, because the queue was full or the file could not be written.
    """

    _log = Logger()

    def __init__(self, file: AuditFile, clock: IReactorTime, submit: Submit) -> None:
        self.lost = 0
        self._file = file
        self._clock = clock
        self._submit = submit
        self._queue: list[bytes] = []
        self._unsaid = 0
        self._writing = False
        self._idle: list[Deferred[None]] = []
        self._refusals: OrderedDict[Principal | None, _Refusals] = OrderedDict()
        self._sweep: IDelayedCall | None = None
        self._failed_at: float | None = None

    # -- events --

    def allowed(self, principal: Principal, address: str, action: Permission, ledger_id: int | None) -> None:
        """Write a line about an allowed request.

        :param address: address of the peer.
        :param ledger_id: id of the ledger; None if the request is about no ledger.
        """
        self._write(principal, address, action, ledger_id, "allowed")

    def refused(
        self, principal: Principal, address: str, action: Permission, ledger_id: int | None, count: int
    ) -> None:
        """Write a line about refused requests of a principal, at most one line per second and principal.

        If the last line about the principal is less than a second old, only count the requests, for a later line.

        :param count: the number of requests.
        """
        now, key = self._clock.seconds(), principal
        found = self._refusals.get(key)
        if found is None and len(self._refusals) < _MOST_PRINCIPALS:
            self._refusals[key] = _Refusals(now)
            self._write(principal, address, action, ledger_id, "refused", count)
        else:
            if found is None:
                # Too many principals have a counter of their own.  Count the refusals of all further principals
                # together, to limit the memory; their line names no principal.
                found = self._refusals.setdefault(None, _Refusals(now))
            found.count += count
            found.last = address, action, ledger_id
        if self._sweep is None:
            self._sweep = self._clock.callLater(INTERVAL, self._sweep_refusals)

    def _sweep_refusals(self, everything: bool = False) -> None:
        """Write the lines about refusals that were only counted so far.

        For each principal whose last line is at least a second old: if further refusals were counted, write a line with
        their number; otherwise delete the counter of the principal.

        :param everything: whether to write the counted refusals of all principals now.
        """
        self._sweep = None
        now = self._clock.seconds()
        for principal, found in list(self._refusals.items()):
            if now - found.began < INTERVAL and not everything:
                continue
            if found.count:
                self._write(principal, *found.last, "refused", found.count)
                found.began, found.count = now, 0
            else:
                del self._refusals[principal]
        if self._refusals and not everything:
            self._sweep = self._clock.callLater(INTERVAL, self._sweep_refusals)

    def _write(
        self, principal: Principal | None, address: str, action: Permission, ledger_id: int | None, result: str,
        count: int = 1,
    ) -> None:  # fmt: skip
        line: dict[str, object] = {
            "time": self._now(),
            "kind": principal.kind if principal is not None else "several",
            "principal": principal.name[:_MOST_NAME] if principal is not None else "",
            "address": address,
            "action": action.value,
            "ledger": ledger_id,
            "result": result,
        }
        if count > 1:
            line["count"] = count
        self._append(line)

    def _now(self) -> str:
        return datetime.fromtimestamp(self._clock.seconds(), UTC).isoformat(timespec="milliseconds")

    # -- the queue --

    def _append(self, line: dict[str, object]) -> None:
        if len(self._queue) >= MOST_QUEUED:
            self._lose(1)
            return
        self._queue.append(json.dumps(line).encode() + b"\n")
        self._write_on()

    def _lose(self, count: int) -> None:
        self.lost += count
        self._unsaid += count

    def _write_on(self) -> None:
        if self._writing or not (self._queue or self._unsaid):
            return
        lines, self._queue = self._queue, []
        said = self._unsaid
        if said:
            lines.insert(0, json.dumps({"time": self._now(), "result": "lost", "count": said}).encode() + b"\n")
        self._writing = True
        self._submit(self._file.write, lines).addCallbacks(
            self._written, self._not_written, (lines, said), errbackArgs=(lines, said)
        ).addErrback(lambda failure: self._log.failure("the audit log failed", failure))

    def _written(self, n_written: int, lines: list[bytes], said: int) -> None:
        self._writing = False
        missing = len(lines) - n_written
        if said and n_written:
            self._unsaid -= said
        elif said:
            missing -= 1  # the line with the number of lost lines does not itself count as lost
        if n_written < len(lines):
            # The disk may be full, so do not retry at once: the next line that is added starts the next write.
            self._lose(missing)
            self._say_failure(str(self._file.error))
        else:
            self._write_on()
        if not self._writing:
            idle, self._idle = self._idle, []
            for waiter in idle:
                waiter.callback(None)

    def _not_written(self, failure: Failure, lines: list[bytes], said: int) -> None:
        self._file.error = failure.value
        self._written(0, lines, said)

    def _say_failure(self, error: str) -> None:
        now = self._clock.seconds()
        if self._failed_at is None or now - self._failed_at >= _QUIET:
            self._failed_at = now
            self._log.error("the audit log cannot be written, {lost} lines are lost: {error}", lost=self.lost,
                            error=error)  # fmt: skip

    def stop(self) -> "Deferred[None]":
        """Write all waiting lines to the file; the Deferred fires when the file is closed."""
        if self._sweep is not None:
            self._sweep.cancel()
        self._sweep_refusals(everything=True)
        self._write_on()
        done: Deferred[None] = Deferred() if self._writing else succeed(None)
        if self._writing:
            self._idle.append(done)
        return done.addCallback(lambda _: self._close()).addErrback(lambda f: self._say_failure(f.getErrorMessage()))

    def _close(self) -> "Deferred[int]":
        if self._queue:
            self._lose(len(self._queue))
            self._queue = []
        return self._submit(self._file.close)
