"""The HTTP pages about garbage collection, compaction and scrub, below ``/api/v1/bookie``."""

from collections.abc import Mapping, Sequence

from ..bookie.admin import CollectionStatus, DirectoryWork, IBackgroundWork, IBookieAdmin, ScrubStatus, WorkProgress
from ..errors import IncorrectParameterError
from .api import Answer, ApiRequest, json_answer, switch
from .routes import Parameter, Route, routed

FINDINGS_A_PAGE = 1000

_BAD_REQUEST = 400
_SUSPENDING = "Should be PUT to suspend major or minor compaction, Or GET to get compaction state."
_RESUMING = "Should be PUT to resume major or minor compaction, Or GET to get compaction state."
_COLLECTING = "Should be PUT to trigger GC, Or GET to get Force GC state."
_LOCATIONS = "Should be PUT to trigger entry location compact, Or GET to get entry location compact state."


class BackgroundApi:
    """Answers HTTP requests about the background work of one bookie."""

    def __init__(self, admin: IBookieAdmin) -> None:
        self._admin = admin

    def _work(self) -> IBackgroundWork:
        return self._admin.background()

    def _server(self) -> str:
        """Return the text that names the bookie in HTTP answers, worded as by Apache's bookie."""
        return f"Bookie Server listening on {self._admin.address} with id {self._admin.bookie_id}"

    # -- garbage collection --

    @routed(Route("GET", "/api/v1/bookie/gc", "whether a forced run is at work", refusals=(503,), hint=_COLLECTING))
    async def _is_forced(self, request: ApiRequest) -> Answer:
        return json_answer({"is_in_force_gc": _text(self._work().collection().forced)})

    @routed(
        Route("PUT", "/api/v1/bookie/gc",
              "forces a run of the garbage collection, with compactions of both kinds by default",
              body=(Parameter("forceMajor", "major compactions", "boolean"),
                    Parameter("forceMinor", "minor compactions", "boolean")), refusals=(400, 503)),
    )  # fmt: skip
    async def _collect(self, request: ApiRequest) -> Answer:
        major, minor = request.switches({"forceMajor": True, "forceMinor": True})
        self._work().collect(major, minor)
        return json_answer(f"Triggered GC on BookieServer: {self._admin.bookie_id}")

    @routed(
        Route("GET", "/api/v1/bookie/gc_details",
              "for each directory: what is at work, when the last compactions ended, how many "
              "there were", refusals=(503,)),
    )  # fmt: skip
    async def _details(self, request: ApiRequest) -> Answer:
        status = self._work().collection()
        return json_answer([_details(status, directory) for directory in status.directories])

    @routed(
        Route("GET", "/api/v1/bookie/gc/progress",
              "bytes copied and to be copied, seconds to the end, damaged entry logs, the last "
              "failure", refusals=(503,)),
    )  # fmt: skip
    async def _progress(self, request: ApiRequest) -> Answer:
        """Answer with the progress of garbage collection; Apache's bookie has no such page."""
        return json_answer(collection_value(self._work().collection()))

    @routed(
        Route("GET", "/api/v1/bookie/entry_logs",
              "the entry logs; the bytes of each ledger in one, if the request names it",
              parameters=(Parameter("directory", "the directory of an entry log"),
                          Parameter("log_id", "its id", "integer", least=0)), refusals=(400, 404, 503)),
    )  # fmt: skip
    async def _entry_logs(self, request: ApiRequest) -> Answer:
        """Answer with a list of the entry logs; if the request names an entry log, with the bytes of each ledger in it.
        """
        directory = request.parameters.get("directory")
        if directory is None:
            logs = await self._work().entry_logs()
            return json_answer(
                [{"directory": each.directory, "logId": each.log_id, "fileBytes": each.n_bytes} for each in logs]
            )
        log_id = request.number("log_id", -1)
        if log_id < 0:
            raise IncorrectParameterError("log_id is missing: an entry log has a directory and an id")
        ledgers = await self._work().ledgers_of(directory, log_id)
        return json_answer({str(ledger_id): n_bytes for ledger_id, n_bytes in sorted(ledgers.items())})

    # -- suspension --

    @routed(
        Route("GET", "/api/v1/bookie/gc/suspend_compaction",
              "which compactions are suspended", refusals=(503,), hint=_SUSPENDING)
    )
    async def _is_suspended(self, request: ApiRequest) -> Answer:
        status = self._work().collection()
        return json_answer(
            {
                "isMinorGcSuspended": _text(status.minor.suspended),
                "isMajorGcSuspended": _text(status.major.suspended),
            }
        )

    @routed(
        Route("PUT", "/api/v1/bookie/gc/suspend_compaction", "suspends compactions",
              body=(Parameter("suspendMajor", "major compactions", "boolean"),
                    Parameter("suspendMinor", "minor compactions", "boolean")), refusals=(400, 503)),
    )  # fmt: skip
    async def _suspend(self, request: ApiRequest) -> Answer:
        major, minor = _kinds(request, "suspendMajor", "suspendMinor")
        self._work().suspend_compaction(major, minor)
        return self._confirmation("Suspend", major, minor)

    @routed(
        Route("PUT", "/api/v1/bookie/gc/resume_compaction", "resumes compactions",
              body=(Parameter("resumeMajor", "major compactions", "boolean"),
                    Parameter("resumeMinor", "minor compactions", "boolean")), refusals=(400, 503), hint=_RESUMING),
    )  # fmt: skip
    async def _resume(self, request: ApiRequest) -> Answer:
        major, minor = _kinds(request, "resumeMajor", "resumeMinor")
        self._work().resume_compaction(major, minor)
        return self._confirmation("Resume", major, minor)

    def _confirmation(self, verb: str, major: bool, minor: bool) -> Answer:
        kinds = [kind for kind, wanted in (("majorGC", major), ("minorGC", minor)) if wanted]
        return json_answer(", ".join(f"{verb} {kind} on BookieServer: {self._server()}" for kind in kinds))

    @routed(Route("PUT", "/api/v1/bookie/gc/cancel_compaction", "ends the compaction at work", refusals=(503,)))
    async def _cancel(self, request: ApiRequest) -> Answer:
        self._work().cancel_compaction()
        return json_answer(f"Cancelled compaction on BookieServer: {self._server()}")

    # -- locations of entries --

    @routed(
        Route("GET", "/api/v1/bookie/entry_location_compact",
              "false for each index: it uses the space of deleted rows again, so it "
              "is never compacted", refusals=(503,), hint=_LOCATIONS),
    )  # fmt: skip
    async def _locations(self, request: ApiRequest) -> Answer:
        """Answer that no index is being compacted; the answer names each index.

        Indexes of this bookie need no compaction, because each commit reuses the space of deleted rows.
        """
        return json_answer(dict.fromkeys(self._indexes(), False))

    @routed(
        Route("PUT", "/api/v1/bookie/entry_location_compact",
              "does nothing, because there is never anything to compact",
              body=(Parameter("entryLocationRocksDBCompact", "whether to compact", "boolean"),
                    Parameter("entryLocations", "paths of indexes, separated by commas")), refusals=(400, 503)),
    )  # fmt: skip
    async def _compact_locations(self, request: ApiRequest) -> Answer:
        body = request.members("entryLocationRocksDBCompact", "entryLocations")
        if not body:
            return Answer("Empty request body", _BAD_REQUEST)
        if not switch(body, "entryLocationRocksDBCompact", False):
            return json_answer("Not trigger Entry Location RocksDB compact.")
        wanted, known = body.get("entryLocations", ""), self._indexes()
        if not isinstance(wanted, str):
            raise IncorrectParameterError("entryLocations should be paths, separated by commas")
        if not {path for path in wanted.strip().split(",") if path} <= set(known):
            text = f"Specified trigger compact entryLocations: {wanted} is invalid. "
            return json_answer(f"{text}Bookie entry location RocksDB path: [{', '.join(known)}].", _BAD_REQUEST)
        return json_answer(f"No entry location of bookie:{self._admin.bookie_id} has to be compacted.")

    def _indexes(self) -> list[str]:
        return [each.index for each in self._work().collection().directories]

    # -- scrub --

    @routed(Route("GET", "/api/v1/bookie/scrub", "state and progress of the scrub", refusals=(503,)))
    async def _scrub(self, request: ApiRequest) -> Answer:
        return json_answer(scrub_value(self._work().scrub()))

    @routed(
        Route("GET", "/api/v1/bookie/scrub/findings", "the damage that the scrub found, a thousand to a page",
              parameters=(Parameter("page", "number of the page, from 1 on", "integer", least=1),), refusals=(503,)),
    )  # fmt: skip
    async def _findings(self, request: ApiRequest) -> Answer:
        """Answer with at most a thousand ranges of entries that the scrub has found damaged."""
        page = request.number("page", 1)
        found = self._work().scrub().findings[(page - 1) * FINDINGS_A_PAGE : page * FINDINGS_A_PAGE]
        return json_answer(
            [
                {
                    "ledgerId": each.ledger_id,
                    "firstEntryId": each.first,
                    "lastEntryId": each.last,
                    "foundTime": each.found_at * 1000,
                    "text": each.text,
                }
                for each in found
            ]
        )

    @routed(Route("PUT", "/api/v1/bookie/scrub", "begins a pass of the scrub", refusals=(503,)))
    async def _start_scrub(self, request: ApiRequest) -> Answer:
        self._work().start_scrub()
        return json_answer(f"Triggered scrub on BookieServer: {self._admin.bookie_id}")

    @routed(Route("PUT", "/api/v1/bookie/scrub/suspend", "suspends the scrub, the next passes too", refusals=(503,)))
    async def _suspend_scrub(self, request: ApiRequest) -> Answer:
        self._work().suspend_scrub()
        return json_answer(f"Suspend scrub on BookieServer: {self._server()}")

    @routed(
        Route("PUT", "/api/v1/bookie/scrub/cancel",
              "ends the pass at work; the next timed one goes on there", refusals=(503,))
    )
    async def _cancel_scrub(self, request: ApiRequest) -> Answer:
        self._work().cancel_scrub()
        return json_answer(f"Cancelled scrub on BookieServer: {self._server()}")

    @routed(Route("PUT", "/api/v1/bookie/scrub/resume", "resumes the scrub", refusals=(503,)))
    async def _resume_scrub(self, request: ApiRequest) -> Answer:
        self._work().resume_scrub()
        return json_answer(f"Resume scrub on BookieServer: {self._server()}")


def _kinds(request: ApiRequest, major: str, minor: str) -> Sequence[bool]:
    """Return two values: whether the body of a request asks for major compactions, and whether for minor compactions.

    :param major: name of the member for major compactions.
    :param minor: name of the member for minor compactions.
    :raises IncorrectParameterError: the body asks for neither.
    """
    if not request.body.strip():
        raise IncorrectParameterError("Empty request body")
    wanted = request.switches({major: False, minor: False})
    if not any(wanted):
        raise IncorrectParameterError(f"No {major} or {minor} params found")
    return wanted


def _details(status: CollectionStatus, directory: DirectoryWork) -> Mapping[str, object]:
    at_work = directory.progress is not None
    return {
        "forceCompacting": status.forced,
        "majorCompacting": at_work and status.major.at_work,
        "minorCompacting": at_work and status.minor.at_work,
        "lastMajorCompactionTime": _millis(_latest(status.began, status.major.last)),
        "lastMinorCompactionTime": _millis(_latest(status.began, status.minor.last, status.major.last)),
        "lastEntryLocationCompactionTime": _millis(status.began),
        "majorCompactionCounter": status.major.total,
        "minorCompactionCounter": status.minor.total,
        "entryLocationCompactionCounter": 0,
    }


def collection_value(status: CollectionStatus) -> Mapping[str, object]:
    """Return the ``status`` of the garbage collection as a JSON object."""
    return {
        "phase": status.phase,
        "forced": status.forced,
        "runs": status.runs,
        "failures": status.failures,
        "lastFailure": status.last_failure or None,
        "deletedLedgers": status.deleted_ledgers,
        "directories": {
            each.directory: {"compaction": _progress(each.progress), "damagedEntryLogs": dict(each.damaged)}
            for each in status.directories
        },
    }


def scrub_value(status: ScrubStatus) -> Mapping[str, object]:
    """Return the ``status`` of the scrub as a JSON object."""
    return {
        "suspended": status.suspended,
        "progress": _progress(status.progress),
        "passes": status.passes,
        "failures": status.failures,
        "lastPassTime": None if status.last_pass is None else _millis(status.last_pass),
        "findings": len(status.findings),
        "at": status.at or None,
    }


def _progress(progress: WorkProgress | None) -> Mapping[str, object] | None:
    if progress is None:
        return None
    eta = None if progress.eta is None else round(progress.eta, 1)
    return {"doneBytes": progress.done, "leftBytes": progress.left, "etaSeconds": eta}


def _latest(began: float, *ends: float | None) -> float:
    """Return when the last of several compactions ended; before the first one the start of the bookie, like Apache's.

    :param began: the start of the bookie.
    :param ends: the end of the last compaction of each kind; None if there was none.
    """
    return max([end for end in ends if end is not None], default=began)


def _millis(seconds: float) -> int:
    return int(seconds * 1000)


def _text(value: bool) -> str:
    return "true" if value else "false"
