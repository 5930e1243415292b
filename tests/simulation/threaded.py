"""A client whose threads append: offers and claims of several of them, some given up, flushed now and then."""

from collections import deque
from concurrent.futures import Future

import attrs
from twisted.internet.defer import Deferred

from bookkeeper_twisted.client import LedgerWriter, ThreadAppender, WhenFull
from bookkeeper_twisted.errors import BookKeeperError

from .checker import Checker
from .workload import Writer


@attrs.define(eq=False)
class _Claim:
    end: int
    payload: bytes
    committed: bool | None = None


class _Order:
    """Which entries the claims of a ledger become: those that are committed, in the order of claims."""

    def __init__(self, checker: Checker, ledger_id: int) -> None:
        self._checker = checker
        self._ledger_id = ledger_id
        self._claims: deque[_Claim] = deque()
        self._ends: deque[int] = deque()
        self._given = self._acked = 0

    def claimed(self, end: int, payload: bytes, committed: bool | None = None) -> _Claim:
        """The next claim; what becomes of it may be open."""
        claim = _Claim(end, payload)
        self._claims.append(claim)
        if committed is not None:
            self.settle(claim, committed)
        return claim

    def settle(self, claim: _Claim, committed: bool) -> None:
        """A claim is committed or given up: ids are certain up to the next one that is open."""
        claim.committed = committed
        while self._claims and self._claims[0].committed is not None:
            first = self._claims.popleft()
            if first.committed:
                self._checker.appended(self._ledger_id, self._given, first.payload)
                self._ends.append(first.end)
                self._given += 1

    def acked(self, position: int) -> None:
        """Everything below a position is acknowledged."""
        while self._ends and self._ends[0] <= position:
            self._ends.popleft()
            self._checker.acked(self._ledger_id, self._acked)
            self._acked += 1


class ThreadedWriter(Writer):
    """Creates a ledger, appends to it as threads do until it ends or is closed, and begins another one."""

    name = "p"

    async def _append_some(self, writer: LedgerWriter) -> None:
        await _Threads(self, writer).run()

    def flush(self, appender: ThreadAppender, ledger_id: int, order: _Order) -> "Deferred[bool]":
        """Fires with whether it succeeded."""
        call, ended = self._begin("flush", ledger_id), Deferred[bool]()

        def done(future: "Future[int]") -> None:
            error = future.exception()
            self.history.end(call, error, "flushed")
            if error is None:
                self.history.count("flush of threads")
                order.acked(future.result())
            elif not isinstance(error, BookKeeperError):
                self.checker.fail("crash", f"{self.node.name}: a flush ended with {error!r}")
            ended.callback(error is None)

        appender.flush().add_done_callback(done)
        return ended


class _Threads:
    """The threads of one ledger, each with an appender, and a claim now and then."""

    def __init__(self, role: ThreadedWriter, writer: LedgerWriter) -> None:
        self._role = role
        self._chance = role.chance
        self._writer = writer
        self._order = _Order(role.checker, writer.ledger_id)
        self._open: list[tuple[ThreadAppender, _Claim]] = []
        self._count = 0

    async def run(self) -> None:
        """Appends until it has enough, or the ledger takes no more."""
        role, chance = self._role, self._chance
        flushes: list[Deferred[bool]] = []
        try:
            appenders = [self._writer.appender(WhenFull.CODE) for _ in range(chance.randint(1, 3))]
            for _ in range(chance.randint(1, 25)):
                for _ in range(chance.randint(1, role.cluster.scenario.max_append)):
                    self._append(chance.choice(appenders))
                if chance.random() < 0.3:
                    flushes.append(role.flush(appenders[0], self._writer.ledger_id, self._order))
                await role.pause(role.cluster.scenario.mean_pause)
                waits = chance.random() < 0.3 and bool(flushes)
                self._settle_claims(keep=0 if waits else chance.randint(0, 1))
                if waits and not await flushes.pop():
                    return
            self._settle_claims(keep=0)
            await role.flush(appenders[0], self._writer.ledger_id, self._order)
        except BookKeeperError:
            return  # the ledger takes no more
        finally:
            self._settle_claims(keep=0)

    def _append(self, appender: ThreadAppender) -> None:
        self._count += 1
        payload = b"%d/%d/" % (self._writer.ledger_id, self._count)
        payload += self._chance.randbytes(self._chance.randint(0, 120))
        if self._chance.random() < 0.8:
            self._order.claimed(appender.offer(payload), payload, committed=True)
            return
        claiming = self._writer.appender(WhenFull.CODE)  # each has one claim at a time
        end = claiming.claim(len(payload))
        if end > 0:
            claiming.payload[:] = payload
            self._open.append((claiming, self._order.claimed(end, payload)))

    def _settle_claims(self, keep: int) -> None:
        while len(self._open) > keep:
            claiming, claim = self._open.pop(0)
            committed = self._chance.random() < 0.7
            claiming.commit() if committed else claiming.abort()
            self._order.settle(claim, committed)
