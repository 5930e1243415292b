"""The HTTP pages about autorecovery, ``/api/v1/autorecovery``, with Apache's paths, methods and texts."""

import math
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from itertools import islice
from typing import Any

import attrs
from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure

from ..autorecovery.metrics import ReplicationMetrics
from ..autorecovery.operations.admin import AutorecoveryAdmin
from ..autorecovery.operations.bookie_recovery import BookieRecovery, PlannedLedger, RecoveryResult
from ..autorecovery.operations.decommission import Decommission, Remaining, unjudged, when_reachable
from ..client.steps import for_each
from ..errors import BookKeeperError, CookieNotFoundError, IncorrectParameterError, MetadataUnavailableError
from ..instruments import Instruments
from ..model import UnderreplicatedLedger, check_bookie_id
from .api import Answer, ApiRequest, check_members, json_answer
from .cluster_api import Connect
from .routes import TEXT, Parameter, Route, routed

_NOT_FOUND = 404
_DECOMMISSION_BODY = '{"bookie_src" : "<bookie id>", "delete_cookie" : false}'
_RECOVERY_BODY = '{"bookie_src" : ["<bookie id>"], "delete_cookie" : false}'
_LEDGERS_AT_ONCE = 4
_LOGGED = 20
_MOST_ENDED = 20
_PROGRESS = "/api/v1/autorecovery/progress"
WAITS = "waits for the metadata store"
"""What a decommission does while the store cannot be reached."""

_DELAY_BODY = '{"delay_seconds" : <seconds>}'


@attrs.define(eq=False)
class RunningOperation:
    """A decommission or a recovery that continues after the answer to the request that has started it, or has failed.

    :ivar began: time of the start, in seconds of the clock.
    :ivar changed: time at which the number of ledgers that a decommission waits for has fallen last.
    :ivar fell: how much it has fallen then; 0 if it has never fallen.
    :ivar remaining: the ledgers that a decommission waits for; None for a recovery.
    :ivar recovered, failed: the numbers of ledgers that a recovery has recovered, and could not recover.
    :ivar note_of_end: what is to be said of its end; for a recovery, why it could not recover the first such ledger.
    :ivar failure: why it has failed; empty while it continues.
    :ivar advice: what to do if it has failed.
    :ivar ended: time of its end, in seconds of the clock; None while it continues.
    """

    name: str
    began: float
    running: Deferred[None] | None = None
    changed: float = attrs.field(default=attrs.Factory(lambda self: self.began, takes_self=True))
    fell: int = 0
    remaining: Remaining | None = None
    recovered: int = 0
    failed: int = 0
    note_of_end: str = ""
    failure: str = ""
    advice: str = "begin it again"
    ended: float | None = None

    def progress(self, now: float) -> Mapping[str, object]:
        """Return as JSON what has been done at the time ``now`` of the clock."""
        state = "running" if self.ended is None else "failed" if self.failure or self.failed else "done"
        until, known = now if self.ended is None else self.ended, self.remaining
        waits = known.unreachable if known is not None else ""
        return {
            "name": self.name, "state": state, "seconds": round(until - self.began, 1),
            "ledgersLeft": None if known is None or known.read_at is None else len(known.blockers),
            "ledgersRecovered": self.recovered, "ledgersFailed": self.failed,
            "reason": self.failure or self.note_of_end or (f"{WAITS}: {waits}" if waits else ""),
        }  # fmt: skip

    def note(self, remaining: Remaining, now: float) -> None:
        """Take the ``remaining`` ledgers of a new check, made at the time ``now`` of the clock."""
        fell = 0 if self.remaining is None else len(self.remaining.blockers) - len(remaining.blockers)
        if fell > 0:
            self.changed, self.fell = now, fell
        self.remaining = remaining


class AutorecoveryApi:
    """Answers HTTP requests about the autorecovery of a cluster.

    :ivar operations: the decommissions and recoveries that requests have begun, by name: those that continue, and the
        newest ones that are done, and that have failed, in the order of their ends.
    """

    _log = Logger()

    def __init__(self, connect: Connect, clock: Any) -> None:
        self._connect = connect
        self._clock = clock
        self.operations: dict[str, RunningOperation] = {}

    def close(self) -> None:
        """Cancel all decommissions and recoveries that requests have begun."""
        for operation in list(self.operations.values()):
            if operation.running is not None:
                operation.running.cancel()

    async def _admin(self) -> AutorecoveryAdmin:
        return AutorecoveryAdmin((await self._connect()).client.metadata)

    @routed(Route("GET", "/api/v1/autorecovery/status", "whether auditors and workers are to work"))
    async def _status(self, request: ApiRequest) -> Answer:
        return json_answer({"enabled": await (await self._admin()).is_enabled()})

    @routed(
        Route("PUT", "/api/v1/autorecovery/status", "starts or stops the work of auditors and workers",
              parameters=(Parameter("enabled", "whether they are to work", "boolean", required=True),),
              refusals=(400,)),
    )  # fmt: skip
    async def _set_status(self, request: ApiRequest) -> Answer:
        wanted = request.parameters.get("enabled")
        if wanted not in ("true", "false"):
            return Answer("enabled must be true or false", 400)
        await (await self._admin()).set_enabled(wanted == "true")
        return json_answer({"enabled": wanted == "true"})

    @routed(
        Route("GET", "/api/v1/autorecovery/list_under_replicated_ledger",
              "ids of the ledgers that are marked as underreplicated",
              parameters=(Parameter("missingreplica", "only those whose replicas on this bookie are missing"),
                          Parameter("excludingmissingreplica", "only those whose replicas on this bookie are not"),
                          Parameter("printmissingreplica", "whether to show bookies", "boolean"),
                          Parameter("printreplicationworkerid", "whether to show the worker that has each ledger, and "
                                    "why it does not repair it", "boolean")), refusals=(404,)),
    )  # fmt: skip
    async def _list(self, request: ApiRequest) -> Answer:
        """Answer with the ids of underreplicated ledgers, and with details about them if query parameters ask for them.

        ``printmissingreplica`` adds the bookies whose replicas are missing.  ``printreplicationworkerid``, which
        Apache's bookie does not have, adds the text in the replication lock of each ledger.
        """
        admin, parameters = await self._admin(), request.parameters
        marked = admin.underreplicated(
            parameters.get("missingreplica", ""), parameters.get("excludingmissingreplica", "")
        )  # fmt: skip
        found = {ledger_id: mark async for ledger_id, mark in marked}
        if not found:
            return Answer("No under replicated ledgers found", _NOT_FOUND)
        with_replicas = request.flag("printmissingreplica")
        if request.flag("printreplicationworkerid"):
            texts = await admin.recovering()
            return json_answer({str(i): _shown(texts.get(i), mark, with_replicas) for i, mark in found.items()})
        if with_replicas:
            return json_answer({str(ledger_id): list(mark.replicas) for ledger_id, mark in found.items()})
        return json_answer(list(found))

    @routed(
        Route("GET", "/api/v1/autorecovery/who_is_auditor", "bookie id of the auditor", refusals=(404,), content=TEXT),
    )  # fmt: skip
    async def _auditor(self, request: ApiRequest) -> Answer:
        auditor = await (await self._admin()).auditor()
        return Answer("No auditor elected", _NOT_FOUND) if auditor is None else Answer(f"Auditor: {auditor}")

    @routed(
        Route("PUT", "/api/v1/autorecovery/trigger_audit", "has the auditor look for lost bookies now",
              refusals=(400,), content=TEXT),
    )  # fmt: skip
    async def _trigger(self, request: ApiRequest) -> Answer:
        await (await self._admin()).trigger_audit()
        return Answer("Success trigger audit.")

    @routed(
        Route("GET", "/api/v1/autorecovery/lost_bookie_recovery_delay",
              "seconds between the loss of a bookie and the audit", content=TEXT)
    )
    async def _delay(self, request: ApiRequest) -> Answer:
        return Answer(f"lostBookieRecoveryDelay value: {await (await self._admin()).lost_bookie_delay()}")

    @routed(
        Route("PUT", "/api/v1/autorecovery/lost_bookie_recovery_delay",
              "changes the seconds between the loss of a bookie and the audit",
              body=(Parameter("delay_seconds", "the seconds", "integer", required=True),),
              refusals=(400, 404), content=TEXT),
    )  # fmt: skip
    async def _set_delay(self, request: ApiRequest) -> Answer:
        body = _members(request, "delay_seconds")
        if body is None:
            return Answer("No request body provide.", _NOT_FOUND)
        seconds = body.get("delay_seconds")
        if type(seconds) is not int:
            return Answer(f"Request body should be {_DELAY_BODY}", _NOT_FOUND)
        await (await self._admin()).set_lost_bookie_delay(seconds)
        return Answer(f"Success set lostBookieRecoveryDelay to {seconds}")

    @routed(
        Route("PUT", "/api/v1/autorecovery/decommission",
              "copies what a bookie keeps to others, and waits until nothing needs it; goes on "
              "after the answer",
              body=(Parameter("bookie_src", "id of the bookie", required=True),
                    Parameter("delete_cookie", "whether to delete its cookie at the end", "boolean")),
              refusals=(400, 404), content=TEXT),
    )  # fmt: skip
    async def _decommission(self, request: ApiRequest) -> Answer:
        """Begin the decommission of a bookie; it continues after the answer and logs its result.

        The request is refused if the bookie cannot be decommissioned.  While the metadata store cannot be reached, this
        is unknown, and the decommission waits for the store.
        """
        body = _members(request, "bookie_src", "delete_cookie")
        if body is None:
            return Answer("Null request body for DecommissionService.", _NOT_FOUND)
        bookie_id, delete = body.get("bookie_src"), body.get("delete_cookie", False)
        if not isinstance(bookie_id, str) or not isinstance(delete, bool):
            return Answer(f"Request body should be {_DECOMMISSION_BODY}", _NOT_FOUND)
        name = f"decommission of bookie {check_bookie_id(bookie_id)}"
        if not self._continues(name):
            unread = Remaining({}, 0)
            try:
                client = await self._connect()
                await Decommission(self._clock, client.client.metadata, bookie_id).check()
            except MetadataUnavailableError as error:  # the decommission repeats both
                unread = Remaining({}, 0, str(error))
                self._log.warn("the {name} {waits}: {error}", name=name, waits=WAITS, error=error)
            self._begin(name, partial(self._finish, name, bookie_id, delete), unread)
        return Answer(f"Success send decommission Bookie command {bookie_id}", headers={"Location": _PROGRESS})

    async def _finish(self, name: str, bookie_id: str, delete: bool) -> None:
        def report(remaining: Remaining) -> None:
            operation = self.operations[name]
            before = operation.remaining
            if remaining.unreachable and not (before and before.unreachable):
                self._log.warn("the {name} {waits}: {error}", name=name, waits=WAITS, error=remaining.unreachable)
            operation.note(remaining, self._clock.seconds())

        client = await when_reachable(self._clock, self._connect, report)
        decommission = Decommission(self._clock, client.client.metadata, bookie_id)
        remaining = await decommission.run(report)
        if remaining.blockers:
            self._log.error(
                "{n} ledgers still need bookie {bookie_id}: {blockers}", n=len(remaining.blockers),
                bookie_id=bookie_id, blockers=dict(islice(remaining.blockers.items(), _LOGGED)),
            )  # fmt: skip
            failure = f"without progress, {len(remaining.blockers)} ledgers still need the bookie"
            failure += f"; {unjudged(remaining.undecoded)}" if remaining.undecoded else ""
            self._keep(self.operations[name], failure)
            return
        if remaining.undecoded:
            failure = f"{unjudged(remaining.undecoded)}; no other ledger needs it, and its cookie is not deleted"
            self._keep_undecoded(self.operations[name], failure)
            return
        if delete:
            try:
                await client.delete_cookie(bookie_id)
            except CookieNotFoundError:
                if not remaining.found:
                    self._keep_unknown(self.operations[name])
                    return
                # Another process has decommissioned the bookie at the same time, and has deleted its cookie.
        elif not remaining.found and not await decommission.has_trace():
            self._keep_unknown(self.operations[name])
            return
        self._log.info("bookie {bookie_id} is decommissioned", bookie_id=bookie_id)

    @routed(
        Route("PUT", "/api/v1/autorecovery/bookie", "copies what lost bookies kept to others; goes on after the answer",
              body=(Parameter("bookie_src", "ids of the bookies", "array", required=True),
                    Parameter("bookie_dest", "has no effect, as in Apache's bookie", "array"),
                    Parameter("delete_cookie", "whether to delete their cookies at the end", "boolean")),
              refusals=(400, 404), content=TEXT),
    )  # fmt: skip
    async def _recover(self, request: ApiRequest) -> Answer:
        """Begin to copy the entries of lost bookies to others; this continues after the answer and logs its result.

        The parameter ``bookie_dest``, which names bookies to copy to, is ignored, as in Apache's bookie.
        """
        body = _members(request, "bookie_src", "bookie_dest", "delete_cookie")
        if body is None:
            return Answer("No request body provide.", _NOT_FOUND)
        bookies, delete = body.get("bookie_src"), body.get("delete_cookie", False)
        if not (isinstance(bookies, list) and bookies and all(isinstance(b, str) for b in bookies)):
            return Answer(f"Request body should be {_RECOVERY_BODY}", _NOT_FOUND)
        if not isinstance(delete, bool):
            return Answer(f"Request body should be {_RECOVERY_BODY}", _NOT_FOUND)
        name = f"recovery of {', '.join(sorted(check_bookie_id(bookie_id) for bookie_id in bookies))}"
        if not self._continues(name):
            admin = await self._connect()
            recovery = BookieRecovery.assembled(self._clock, admin, bookies, ReplicationMetrics(Instruments()))
            if delete:
                await recovery.check_gone()
            self._begin(name, partial(self._copy, name, recovery, delete))
        return Answer("Success send recovery request command.", headers={"Location": _PROGRESS})

    async def _copy(self, name: str, recovery: BookieRecovery, delete: bool) -> None:
        operation = self.operations[name]

        async def recover(planned: PlannedLedger) -> None:
            ended = await recovery.recover(planned)
            if ended.result is RecoveryResult.RECOVERED:
                operation.recovered += 1
                return
            operation.failed += 1
            operation.note_of_end = operation.note_of_end or f"ledger {ended.ledger_id}: {ended.reason}"
            self._log.error(
                "{name}: ledger {ledger_id}: {reason}", name=name, ledger_id=ended.ledger_id, reason=ended.reason
            )

        await for_each(recovery.plan(), recover, _LEDGERS_AT_ONCE)
        if not operation.recovered + operation.failed and (unknown := await recovery.unknown(())):
            operation.note_of_end = f"no ledger names {', '.join(unknown)}, and there is no cookie: mistyped?"
        left_out = recovery.unjudged()
        if delete and not operation.failed and not left_out:
            await recovery.forget()
        self._log.info(
            "{name} has ended: {recovered} ledgers recovered, {failed} failed{note}", name=name,
            recovered=operation.recovered, failed=operation.failed,
            note=operation.note_of_end and f"; {operation.note_of_end}",
        )  # fmt: skip
        if left_out:
            rest = f"{operation.failed} more could not be recovered, the first: {operation.note_of_end}"
            others = rest if operation.failed else "all others are recovered"
            self._keep_undecoded(operation, f"{left_out}; {others}{'; no cookie is deleted' if delete else ''}")

    @routed(
        Route("GET", _PROGRESS,
              "the decommissions and recoveries that requests have begun, those that have ended first: what they have "
              "done, and why they have failed")
    )  # fmt: skip
    async def _progress(self, request: ApiRequest) -> Answer:
        """Answer with the operations that continue after their requests; Apache's bookie has no such page."""
        now = self._clock.seconds()
        by_end = sorted(self.operations.values(), key=lambda each: math.inf if each.ended is None else each.ended)
        return json_answer([each.progress(now) for each in by_end])

    # -- operations that continue after the answer --

    def _begin(
        self, name: str, work: Callable[[], Coroutine[Deferred[Any], Any, None]], unread: Remaining | None = None
    ) -> None:  # fmt: skip
        if self._continues(name):
            return  # another request has begun the same operation while this request was checked
        operation = self.operations[name] = RunningOperation(name, self._clock.seconds(), remaining=unread)
        running = operation.running = Deferred.fromCoroutine(work())
        running.addCallbacks(self._ended, self._failed, (operation,), {}, (operation,))

    def _continues(self, name: str) -> bool:
        return name in self.operations and self.operations[name].ended is None

    def _ended(self, _: None, operation: RunningOperation) -> None:
        if operation.ended is None:
            self._keep(operation)

    def _keep(self, operation: RunningOperation, failure: str = "") -> None:
        """Keep an operation that has ended, with the reason if it failed; forget the oldest if too many are kept."""
        operation.failure = failure
        operation.ended = self._clock.seconds()
        if operation.remaining is not None:
            operation.remaining = attrs.evolve(operation.remaining, unreachable="")  # it waits no more
        self.operations[operation.name] = self.operations.pop(operation.name)
        ended = [each for each in self.operations.values() if each.ended is not None]
        for oldest in [each.name for each in ended if bool(each.failure) is bool(failure)][:-_MOST_ENDED]:
            del self.operations[oldest]

    def _keep_unknown(self, operation: RunningOperation) -> None:
        """Keep the decommission of a bookie that has left no trace as one that has failed: the id may be mistyped."""
        failure = "no ledger names the bookie, and it has no cookie: it was decommissioned before, or never existed"
        self._log.warn("{name}: {failure}", name=operation.name, failure=failure)
        operation.advice = "check the id of the bookie"
        self._keep(operation, failure)

    def _keep_undecoded(self, operation: RunningOperation, failure: str) -> None:
        """Keep an operation that has failed as the metadata of ledgers cannot be decoded: to repeat it does not help.
        """
        self._log.error("{name}: {reason}", name=operation.name, reason=failure)
        operation.advice = "repair or delete the ledgers first"
        self._keep(operation, failure)

    def _failed(self, failure: Failure, operation: RunningOperation) -> None:
        name = operation.name
        self._keep(operation, failure.getErrorMessage() or repr(failure.value))
        if failure.check(BookKeeperError):
            self._log.error("the {name} failed: {error}", name=name, error=failure.getErrorMessage())
        elif not failure.check(CancelledError):
            self._log.failure("the {name} failed", failure, name=name)


def _shown(lock: str | None, mark: UnderreplicatedLedger, with_replicas: bool) -> Mapping[str, object]:
    shown: dict[str, object] = {"replicationWorkerId": lock}
    return shown | {"missingReplicas": list(mark.replicas)} if with_replicas else shown


def _members(request: ApiRequest, *known: str) -> Mapping[str, Any] | None:
    """Return the body of a request as a JSON object.

    :returns: the object; None if there is no body; an empty object if the body is JSON but not an object.
    :raises IncorrectParameterError: the object has members other than ``known``.
    """
    if not request.body.strip():
        return None
    try:
        body = request.json()
    except IncorrectParameterError:
        return {}
    check_members(body, known, "the body")
    return body
