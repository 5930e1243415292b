"""The HTTP pages about one bookie: ``/heartbeat``, its state, its disks and files."""

from collections.abc import Awaitable, Callable, Mapping

from twisted.internet.defer import DeferredLock
from twisted.logger import Logger
from twisted.web.resource import Resource

from ..authorization.interfaces import Permission
from ..bookie.admin import BookieState, IBookieAdmin, Phase
from ..errors import BookKeeperError, NotServingError
from .api import Answer, ApiPage, ApiRequest, json_answer

CheckSanity = Callable[[], Awaitable[bool]]
"""A function that writes entries to the bookie, reads them back and returns whether they are the same."""

_UNAVAILABLE = 503
_FAILED = 500


class BookieApi:
    """Answers HTTP requests about one bookie.

    :param check_sanity: writes entries to the bookie and reads them back, for the page ``sanity``; None: there is no
        such page.
    """

    _log = Logger()

    def __init__(self, admin: IBookieAdmin, check_sanity: CheckSanity | None = None) -> None:
        self._admin = admin
        self._check_sanity = check_sanity
        self._one_at_a_time = DeferredLock()

    def pages(self) -> Mapping[str, Resource]:
        """Return the pages by their path below ``/api/v1/bookie``."""
        pages: dict[str, Resource] = {
            "state": ApiPage(self._state),
            "state/readonly": ApiPage(self._read_only, put=self._set_read_only),
            "is_ready": ApiPage(self._is_ready),
            "info": ApiPage(self._info),
            "list_disk_file": ApiPage(self._list_disk_file),
            "last_log_mark": ApiPage(self._last_log_mark),
            "expand_storage": ApiPage(put=self._expand_storage),
        }
        if self._check_sanity is not None:
            pages["sanity"] = ApiPage(self._sanity, action=Permission.ADMIN_GET)  # the check writes a ledger
        return pages

    def heartbeat(self) -> ApiPage:
        """Return the page ``/heartbeat``: it answers OK while the bookie serves, otherwise 503 with its phase.

        The page accepts every HTTP method, like that of Apache's bookie.
        """
        return ApiPage(self._heartbeat, others=self._heartbeat)

    def _serves(self) -> bool:
        return self._admin.state().phase is Phase.SERVING

    async def _heartbeat(self, question: ApiRequest) -> Answer:
        state = self._admin.state()
        return Answer("OK\n") if state.phase is Phase.SERVING else Answer(_describe(state), _UNAVAILABLE)

    async def _is_ready(self, question: ApiRequest) -> Answer:
        return Answer("OK") if self._serves() else Answer("Bookie is not fully started yet", _UNAVAILABLE)

    async def _state(self, question: ApiRequest) -> Answer:
        state = self._admin.state()
        found: dict[str, object] = {
            "running": state.phase is Phase.SERVING,
            "readOnly": state.read_only,
            "shuttingDown": state.phase in (Phase.STOPPING, Phase.STOPPED, Phase.FAILED),
            "availableForHighPriorityWrites": state.high_priority_writes,
        }
        return json_answer(found | ({"reasons": state.reasons} if state.reasons else {}))

    async def _read_only(self, question: ApiRequest) -> Answer:
        return json_answer({"readOnly": self._admin.state().read_only})

    async def _set_read_only(self, question: ApiRequest) -> Answer:
        """Make the bookie read-only or writable, as the body says.

        The answer is an error if the bookie must stay read-only for another reason, for example a full disk.
        """
        wanted = question.members("readOnly").get("readOnly")
        if not isinstance(wanted, bool):
            return Answer('The body should be {"readOnly" : true} or {"readOnly" : false}', 400)
        if wanted and self._admin.configuration().get("readOnlyModeEnabled") == "false":
            return Answer("Bookie is disabled ReadOnly mode, cannot transit to readOnly mode", 400)
        self._admin.set_read_only(wanted)
        state = self._admin.state()
        if state.read_only is not wanted:
            return Answer(f"Bookie stays read-only: {'; '.join(state.reasons)}", 400)
        return json_answer({"readOnly": state.read_only})

    async def _info(self, question: ApiRequest) -> Answer:
        """Answer with total and free space of all disks.

        If two directories have equal total and free space, they are assumed to be on one disk, which counts once.
        """
        disks = dict.fromkeys((disk.total, disk.free) for disk in await self._admin.disks())
        free, total = sum(free for _, free in disks), sum(total for total, _ in disks)
        return json_answer({"freeSpace": free, "totalSpace": total})

    async def _sanity(self, question: ApiRequest) -> Answer:
        """Answer whether the bookie stores entries and returns them; only one such check runs at a time."""
        state = self._admin.state()
        if state.phase is not Phase.SERVING:
            raise NotServingError(f"the bookie is {state.phase.value}")
        passed = not state.read_only and await self._passes()
        return json_answer({"passed": passed, "readOnly": state.read_only})

    async def _passes(self) -> bool:
        assert self._check_sanity is not None
        await self._one_at_a_time.acquire()
        try:
            return await self._check_sanity()
        except BookKeeperError as error:
            self._log.warn("the sanity check failed: {error}", error=error)
            return False
        finally:
            self._one_at_a_time.release()

    async def _list_disk_file(self, question: ApiRequest) -> Answer:
        """Answer with file names, each followed by a tab; the parameter ``file_type`` selects one type of files."""
        files = await self._admin.files()
        kinds = {"index": files.indexes, "journal": files.journals, "entrylog": files.entry_logs}
        wanted = question.parameters.get("file_type", "")
        shown = {wanted: kinds[wanted]} if wanted in kinds else kinds
        return json_answer({f"{kind} files": "".join(f"{name}\t" for name in names) for kind, names in shown.items()})

    async def _last_log_mark(self, question: ApiRequest) -> Answer:
        marks = await self._admin.marks()
        return json_answer(
            {
                f"LastLogMark: Journal Id - {mark.file_id}({mark.file_id:x}.txn)": f"Pos - {mark.offset}"
                for mark in marks
            }
        )

    async def _expand_storage(self, question: ApiRequest) -> Answer:
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
