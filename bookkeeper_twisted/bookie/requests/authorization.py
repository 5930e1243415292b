"""The bookie's side of authorization: refuses the requests for which the principal of a connection has no permission.

A refused request gets the status EUA.  Of a run (adds or reads that were received together), only the requests for
forbidden ledgers are refused.  A refusal may be sent before the replies to earlier requests, if these wait for the
disk.  While a decision waits for a read of the metadata store, the later requests of the connection wait, too.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from itertools import groupby, product
from typing import Any

from twisted.internet.defer import Deferred, DeferredList
from twisted.python.failure import Failure
from zope.interface import implementer

from ...authorization.access import AccessControl, Decisions
from ...authorization.interfaces import Permission
from ...codec.messages import (
    AuthRequest,
    BookieInfoRequest,
    ForceLedgerRequest,
    Header,
    ListEntriesRequest,
    ReadLacRequest,
    ReadRequest,
    RejectedRequest,
    StartTlsRequest,
    WriteLacRequest,
)
from ...codec.runs import FENCE, RECOVERY_ADD, AddRun, BatchRead, ReadRun
from ...errors import Status
from ...protocol.interfaces import IRequestSession, IServerConnection
from ...security.principals import Principal
from .session import RequestSession

_AT_ONCE = 16
"""Maximum number of authorization decisions that one connection requests at a time, to be fair to other connections."""

_MOST_RECOVERED = 4_096
_MOST_TRIES = 3

_ACTIONS: dict[type[Any], tuple[Permission, ...]] = {
    ReadLacRequest: (Permission.READ,),
    WriteLacRequest: (Permission.WRITE_LAC,),
    ForceLedgerRequest: (Permission.FORCE,),
    ListEntriesRequest: (Permission.LIST,),
    BookieInfoRequest: (Permission.INFO,),
    AuthRequest: (),
    StartTlsRequest: (),
    RejectedRequest: (),
}
_FENCING, _READING = (Permission.FENCE, Permission.READ), (Permission.READ,)


def _needed(item: Any) -> tuple[Permission, ...]:
    """Return the permissions for one request, or for a run of adds or reads (requests that were received together)."""
    kind = type(item)
    if kind is AddRun:
        return (Permission.FENCE,) if item.flags & RECOVERY_ADD else (Permission.WRITE,)
    if kind is ReadRun:
        return _READING
    if kind is ReadRequest:
        return _FENCING if item.fence else _READING
    if kind is BatchRead:
        # A fencing batch read also returns entries, so it needs the permission to read, too.
        return _FENCING if item.flags & FENCE else _READING
    return _ACTIONS[kind]


def _ledgers(item: Any) -> Iterable[int | None]:
    """Return the ledger ids in a request or a run of requests; the single id None for a request without a ledger."""
    kind = type(item)
    if kind is AddRun:
        return dict.fromkeys(item.entries.ledger_ids)
    if kind is ReadRun:
        return dict.fromkeys(item.ledger_ids)
    return (getattr(item, "ledger_id", None),)


@implementer(IRequestSession)
class AuthorizingSession:
    """The session of a connection whose requests need permission.

    :param session: the session that answers the allowed requests; it also sends the refusals, in their order.
    """

    def __init__(self, connection: IServerConnection, access: AccessControl, session: RequestSession) -> None:
        self._connection = connection
        self._access = access
        self._authorizer = access.authorizer
        self._session = session
        self._waiting: deque[Any] = deque()
        self._asking: Deferred[Any] | None = None
        self._verdicts: dict[tuple[Permission, int | None], bool] = {}
        # The principal is set when the first request arrives, because the peer is not authenticated before that.
        self._principal: Principal | None = None
        self._revision = -1
        self._decisions = Decisions()
        self._recovered: dict[int | None, bool] = {}
        self._bind()

    def _bind(self) -> None:
        self._may_write = self._decisions.by_action[Permission.WRITE].get
        self._may_read = self._decisions.by_action[Permission.READ].get
        self._may_recover = self._recovered.get

    def _renew(self) -> None:
        """Switch to the cached decisions for the present principal under the present rules."""
        self._principal = self._connection.principal
        self._revision = self._authorizer.revision
        self._decisions = self._access.decisions(self._principal)
        self._recovered = {}
        self._verdicts.clear()
        self._bind()

    @property
    def busy(self) -> bool:
        return self._asking is not None or self._session.busy

    def received(self, items: Sequence[Any]) -> None:
        if self._asking is None and self._is_current() and self._are_known(items):
            self._session.received(items)
            return
        self._waiting.extend(items)
        if self._asking is None:
            self._pump()
        else:
            # Pause the connection again: the session that answers allowed requests may have resumed it.
            self._connection.set_reading_paused(True)

    def _is_current(self) -> bool:
        """Test whether the cached decisions are for the present principal and the present rules."""
        return self._revision == self._authorizer.revision and self._principal is self._connection.principal

    def _are_known(self, items: Sequence[Any]) -> bool:
        """Test whether all requests are adds or reads that the cached decisions allow, which is the usual case."""
        for item in items:
            if type(item) is AddRun:
                ledger_ids = item.entries.ledger_ids
                kept = self._may_recover if item.flags & RECOVERY_ADD else self._may_write
            elif type(item) is ReadRun:
                ledger_ids, kept = item.ledger_ids, self._may_read
            else:
                return False
            first, count = ledger_ids[0], len(ledger_ids)
            if count == 1 or (ledger_ids[-1] == first and ledger_ids.count(first) == count):
                if not kept(first):
                    return False
            elif not all(map(kept, ledger_ids)):
                return False
        return True

    def writable(self) -> None:
        self._session.writable()

    def lost(self) -> None:
        self._waiting.clear()
        if self._asking is not None:
            self._asking.cancel()
        self._session.lost()

    # -- decisions --

    def _pump(self) -> None:
        """Pass waiting requests, in order, to the session that answers them.

        Stop at the first request that cannot be allowed or refused yet, because metadata must be read first.
        """
        connection = self._connection
        passed: list[Any] = []
        must_close = False
        while self._waiting and not must_close and not connection.closed:
            item = self._waiting[0]
            if not self._decide(item):
                break
            self._waiting.popleft()
            must_close = not self._pass(item, passed)
            self._verdicts.clear()
        if passed and not connection.closed:
            self._session.received(passed)
        if must_close:
            self._waiting.clear()
            connection.end()
        elif self._asking is not None:
            connection.set_reading_paused(True)

    def _decide(self, item: Any) -> bool:
        """Decide whether the peer may make a request, or each request of a run (adds or reads that came together).

        :returns: True if all decisions are made; False if a decision waits for a read of the metadata store, which this
            call has begun.
        """
        actions, tries = _needed(item), 0
        while actions:
            if not self._is_current():
                self._renew()
            asked = self._ask(actions, _ledgers(item))
            if not asked:
                tries += 1
                if self._is_current() or tries >= _MOST_TRIES:
                    return True
                continue  # the rules have changed during the call: decide again by the new rules
            asking = DeferredList(asked, consumeErrors=True)
            if not asking.called:
                self._asking = asking
                asking.addCallback(self._go_on)
                return False
        return True

    def _ask(self, actions: Sequence[Permission], ledger_ids: Iterable[int | None]) -> "list[Deferred[None]]":
        """Ask the authorizer for each missing decision about a request.

        :returns: a Deferred for each decision that waits for a read of the metadata store, at most :data:`_AT_ONCE`;
            empty if all decisions are made.
        """
        verdicts, kept, access, principal = self._verdicts, self._decisions, self._access, self._connection.principal
        asked: list[Deferred[None]] = []
        for question in product(actions, ledger_ids):
            if question in verdicts:
                continue
            action, ledger_id = question
            allowed = kept.by_action[action].get(ledger_id)
            found = access.ask(principal, action, ledger_id) if allowed is None else allowed
            if isinstance(found, Deferred):
                asked.append(found.addCallbacks(self._decided, self._failed, question, errbackArgs=question))
                if len(asked) >= _AT_ONCE:
                    break
            else:
                self._decided(found, action, ledger_id)
        return asked

    def _decided(self, allowed: object, action: Permission, ledger_id: int | None) -> None:
        self._verdicts[action, ledger_id] = allowed is True
        self._decisions.keep(action, ledger_id, allowed is True)

    def _failed(self, failure: Failure, action: Permission, ledger_id: int | None) -> None:
        """Refuse a request because its decision failed with an error; the error is not cached for later requests."""
        self._access.failed(failure)
        self._verdicts[action, ledger_id] = False

    def _go_on(self, _: object) -> None:
        self._asking = None
        if self._connection.closed:
            return
        self._pump()
        if self._asking is None:
            self._connection.set_reading_paused(self._session.reading_paused)
        self._connection.flush()

    # -- allowed and refused requests --

    def _pass(self, item: Any, passed: list[Any]) -> bool:
        """Append a request to the requests that will be answered; if it is not allowed, append a refusal instead.

        :param item: the request, or a run of requests, some of which may be allowed.
        :param passed: the allowed requests and refusals for the session that answers requests.
        :returns: False if the protocol has no error reply for the request, so that the connection must be closed.
        """
        kind = type(item)
        if kind is AddRun:
            return self._pass_adds(item, passed)
        if kind is ReadRun:
            return self._pass_reads(item, passed)
        ledger_id = getattr(item, "ledger_id", None)
        for action in _needed(item):
            if not self._verdicts[action, ledger_id]:
                return self._refuse(item, action, ledger_id, passed)
            if action is Permission.FENCE:
                self._record(action, ledger_id)
        passed.append(item)
        return True

    def _pass_adds(self, run: AddRun, passed: list[Any]) -> bool:
        (action,) = _needed(run)
        allowed = {ledger_id: self._verdicts[action, ledger_id] for ledger_id in dict.fromkeys(run.entries.ledger_ids)}
        if action is Permission.FENCE:
            self._record_recovery([ledger_id for ledger_id, is_allowed in allowed.items() if is_allowed])
        if all(allowed.values()):
            passed.append(run)
            return True
        if not any(allowed.values()):
            return self._refuse(run, action, run.entries.ledger_ids[0], passed, run.entries.count)
        # split the run of adds: parts[0] are the refused adds, parts[1] the allowed adds
        for is_allowed, part in run.entries.split(2, {ledger_id: int(may) for ledger_id, may in allowed.items()}):
            txn_ids = run.txn_ids_of(part) if run.txn_ids else ()
            part_run = AddRun(
                run.wire, run.version, run.flags, run.deferred_sync, run.master_key, part, txn_ids
            )  # fmt: skip
            if is_allowed:
                passed.append(part_run)
            elif not self._refuse(part_run, action, part.ledger_ids[0], passed, part.count):
                return False
        return True

    def _pass_reads(self, run: ReadRun, passed: list[Any]) -> bool:
        """Append the allowed reads of a ``run``, and refusals of its other reads, to ``passed`` in the order of reads.

        :returns: False if the connection must be closed, because the protocol has no error reply for these reads.
        """
        at, verdicts = 0, self._verdicts
        for is_allowed, group in groupby(run.ledger_ids, lambda ledger_id: verdicts[Permission.READ, ledger_id]):
            end = at + len(list(group))
            part = run
            if end - at < len(run):
                part = ReadRun(
                    run.wire, run.version, run.flags, run.ledger_ids[at:end], run.entry_ids[at:end],
                    run.txn_ids[at:end],
                )  # fmt: skip
            if is_allowed:
                passed.append(part)
            elif not self._refuse(part, Permission.READ, part.ledger_ids[0], passed, len(part)):
                return False
            at = end
        return True

    def _refuse(
        self, item: Any, action: Permission, ledger_id: int | None, passed: list[Any], count: int = 1
    ) -> bool:  # fmt: skip
        """Append an error reply (a refusal) for a request, or for all requests of a run, to ``passed``.

        :param item: the request or run.
        :param action: the permission that is missing.
        :param ledger_id: id of the ledger; None if the request is about no ledger.
        :param passed: the allowed requests and refusals for the session that answers requests.
        :param count: the number of requests.
        :returns: False if the protocol has no error reply for the request, so that the connection must be closed.
        """
        self._access.refused(self._connection.principal, self._connection.peer, action, ledger_id, count)
        head = getattr(item, "header", item)
        frames = head.wire.refusal(item, Status.EUA)
        if frames is None:
            if not isinstance(item, BatchRead):
                return False
            # Keep the connection open: unlike a peer that is not authenticated, this peer may make other requests.
            frames = item.failure(Status.EUA)
        passed.append(RejectedRequest(Header(head.wire, head.version, 0), Status.EUA, frames))
        return True

    def _record(self, action: Permission, ledger_id: int | None) -> None:
        self._access.allowed(self._connection.principal, self._connection.peer, action, ledger_id)

    def _record_recovery(self, ledger_ids: Iterable[int]) -> None:
        """Write an audit record for each ledger of recovery adds, unless this connection has one for it already."""
        for ledger_id in ledger_ids:
            if ledger_id not in self._recovered:
                if len(self._recovered) >= _MOST_RECOVERED:
                    self._recovered.clear()
                self._recovered[ledger_id] = True
                self._record(Permission.FENCE, ledger_id)
