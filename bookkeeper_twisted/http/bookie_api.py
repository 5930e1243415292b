"""The HTTP pages about one bookie: ``/heartbeat``, its state, its disks and files."""

from collections.abc import Awaitable, Callable

from twisted.internet.defer import DeferredLock
from twisted.logger import Logger

from ..authorization.interfaces import Permission
from ..bookie.admin import BookieState, IBookieAdmin, Phase
from ..errors import BookKeeperError, NotServingError
from .api import Answer, ApiRequest, json_answer
from .routes import ANY_METHOD, TEXT, Access, Parameter, Route, routed

CheckSanity = Callable[[], Awaitable[bool]]
"""A function that writes entries to the bookie, reads them back and returns whether they are the same."""

HEARTBEAT = (
    Route("GET", "/heartbeat", "OK while the process serves, else what it does instead", refusals=(503,), content=TEXT,
          access=Access.ANYONE),
    Route(ANY_METHOD, "/heartbeat", "the same: like Apache's, it takes any method", refusals=(503,), content=TEXT),
)  # fmt: skip
"""The operations of ``/heartbeat``."""

_UNAVAILABLE = 503
_FAILED = 500


class BookieApi:
    """Answers HTTP requests about one bookie.

    :param check_sanity: writes entries to the bookie and reads them back, for the page ``sanity``; None if the server
        has no such page.
    """

    _log = Logger()

    def __init__(self, admin: IBookieAdmin, check_sanity: CheckSanity | None = None) -> None:
        self._admin = admin
        self._check_sanity = check_sanity
        self._one_at_a_time = DeferredLock()

    @routed(*HEARTBEAT)
    async def _heartbeat(self, request: ApiRequest) -> Answer:
        state = self._admin.state()
        return Answer("OK\n") if state.phase is Phase.SERVING else Answer(_describe(state), _UNAVAILABLE)

    @routed(
        Route("GET", "/api/v1/bookie/is_ready",
              "OK once the bookie serves", refusals=(503,), content=TEXT, access=Access.ANYONE),
    )  # fmt: skip
    async def _is_ready(self, request: ApiRequest) -> Answer:
        serves = self._admin.state().phase is Phase.SERVING
        return Answer("OK") if serves else Answer("Bookie is not fully started yet", _UNAVAILABLE)

    @routed(
        Route("GET", "/api/v1/bookie/state",
              "running, read-only, shutting down, adds of high priority; ``reasons`` if it is "
              "read-only or has failed", access=Access.ANYONE),
    )  # fmt: skip
    async def _state(self, request: ApiRequest) -> Answer:
        state = self._admin.state()
        found: dict[str, object] = {
            "running": state.phase is Phase.SERVING,
            "readOnly": state.read_only,
            "shuttingDown": state.phase in (Phase.STOPPING, Phase.STOPPED, Phase.FAILED),
            "availableForHighPriorityWrites": state.high_priority_writes,
        }
        return json_answer(found | ({"reasons": state.reasons} if state.reasons else {}))

    @routed(Route("GET", "/api/v1/bookie/state/readonly", "whether the bookie is read-only"))
    async def _read_only(self, request: ApiRequest) -> Answer:
        return json_answer({"readOnly": self._admin.state().read_only})

    @routed(
        Route("PUT", "/api/v1/bookie/state/readonly",
              "makes the bookie read-only or writable, until the end of its process",
              body=(Parameter("readOnly", "what it should be", "boolean", required=True),), refusals=(400, 503),
              is_logged=True),
    )  # fmt: skip
    async def _set_read_only(self, request: ApiRequest) -> Answer:
        """Make the bookie read-only or writable, as the body says.

        The answer is an error if the bookie must stay read-only for another reason, for example a full disk.
        """
        wanted = request.members("readOnly").get("readOnly")
        if not isinstance(wanted, bool):
            return Answer('The body should be {"readOnly" : true} or {"readOnly" : false}', 400)
        if wanted and self._admin.configuration().get("readOnlyModeEnabled") == "false":
            return Answer("Bookie is disabled ReadOnly mode, cannot transit to readOnly mode", 400)
        before = self._admin.state().reasons
        self._admin.set_read_only(wanted)
        state = self._admin.state()
        if state.reasons != before:
            text = "the bookie is set read-only by {peer}" if wanted else "{peer} has the bookie set read-only no more"
            self._log.info(text, peer=request.peer)
        if state.read_only is not wanted:
            return Answer(f"Bookie stays read-only: {'; '.join(state.reasons)}", 400)
        return json_answer({"readOnly": state.read_only})

    @routed(Route("GET", "/api/v1/bookie/info", "total and free bytes of its ledger disks that can be measured"))
    async def _info(self, request: ApiRequest) -> Answer:
        """Answer with total and free space of all disks.

        Two directories with equal total and equal free space are assumed to be on the same disk, and count once.  A
        directory that cannot be measured does not count.
        """
        disks = dict.fromkeys((disk.total, disk.free) for disk in await self._admin.disks() if not disk.reason)
        free, total = sum(free for _, free in disks), sum(total for total, _ in disks)
        return json_answer({"freeSpace": free, "totalSpace": total})

    @routed(
        Route("GET", "/api/v1/bookie/sanity", "writes entries to this bookie, reads them back, deletes the ledger",
              refusals=(503,), access=Access.ADMINISTRATOR, changes=True, action=Permission.ADMIN_GET),
    )  # fmt: skip
    async def _sanity(self, request: ApiRequest) -> Answer:
        """Answer whether the bookie stores entries and returns them; only one such check runs at a time."""
        state = self._admin.state()
        if state.phase is not Phase.SERVING:
            raise NotServingError(f"the bookie is {state.phase.value}")
        passed = not state.read_only and await self._passes()
        return json_answer({"passed": passed, "readOnly": state.read_only})

    async def _passes(self) -> bool:
        assert self._check_sanity is not None
        async with self._one_at_a_time:
            try:
                return await self._check_sanity()
            except BookKeeperError as error:
                self._log.warn("the sanity check failed: {error}", error=error)
                return False

    @routed(
        Route("GET", "/api/v1/bookie/list_disk_file", "names of its files",
              parameters=(Parameter("file_type", "``journal``, ``entrylog`` or ``index``; all without it"),)),
    )  # fmt: skip
    async def _list_disk_file(self, request: ApiRequest) -> Answer:
        """Answer with file names, each followed by a tab; the parameter ``file_type`` selects one type of files."""
        files = await self._admin.files()
        kinds = {"index": files.indexes, "journal": files.journals, "entrylog": files.entry_logs}
        wanted = request.parameters.get("file_type", "")
        shown = {wanted: kinds[wanted]} if wanted in kinds else kinds
        return json_answer({f"{kind} files": "".join(f"{name}\t" for name in names) for kind, names in shown.items()})

    @routed(Route("GET", "/api/v1/bookie/last_log_mark", "from where each journal would be replayed"))
    async def _last_log_mark(self, request: ApiRequest) -> Answer:
        log_marks = await self._admin.log_marks()
        return json_answer(
            {
                f"LastLogMark: Journal Id - {log_mark.file_id}({log_mark.file_id:x}.txn)": f"Pos - {log_mark.offset}"
                for log_mark in log_marks
            }
        )

    @routed(
        Route("PUT", "/api/v1/bookie/expand_storage",
              "OK if all configured directories belong to the bookie; new ones join with a "
              "start and ``allowStorageExpansion=true``", content=TEXT),
    )  # fmt: skip
    async def _expand_storage(self, request: ApiRequest) -> Answer:
        """Check that all configured directories belong to the bookie.

        The bookie uses a new directory only after its next start.
        """
        try:
            await self._admin.check_directories()
        except BookKeeperError as error:
            return Answer(f"Exception while updating cookie for storage expansion\n{error}", _FAILED)
        return Answer("Success expand storage")


def _describe(state: BookieState) -> str:
    reasons = f": {'; '.join(state.reasons)}" if state.reasons else ""
    return f"the bookie is {state.phase.value}{reasons}\n"
