"""The HTTP pages of the console about one bookie, below ``/api/v1/console``."""

from collections import Counter
from collections.abc import Mapping, Sequence

import attrs

from ...bookie.admin import CollectionStatus, CompactionStatus, DirectoryWork, EntryLogSpace, IBookieAdmin
from ...bookie.engine import FAILED
from ...bookie.lifecycle.disk_monitor import INDEX_DIRECTORY
from ...errors import IncorrectParameterError
from ...storage.ledger_dirs import current
from ..api import Answer, ApiRequest, json_answer
from ..routes import Parameter, Route, routed
from .bookie_parts import BookieParts
from .diagnosis import compaction_gain
from .sources import RecordSource, StateSource, exact

LOGS_A_PAGE = 1000
LOGS_A_STEP = 20
"""Maximum number of entry logs that one request reads from disk to add up the sizes of ledgers."""


class BookiePages:
    """Answers the requests of the console about one bookie.

    :param parts: reads the data of the bookie; the stream of the console uses the same object.
    """

    def __init__(self, admin: IBookieAdmin, parts: BookieParts) -> None:
        self._admin = admin
        self._sources = {source.name: source for source in parts.sources()}
        self._freed: dict[str, frozenset[int]] = {}  # by ledger directory, as its newest count began

    async def _state(self, name: str) -> Answer:
        source = self._sources[name]
        assert isinstance(source, StateSource)
        return json_answer(exact(await source.read()))

    def _records(self, name: str, request: ApiRequest) -> Answer:
        source = self._sources[name]
        assert isinstance(source, RecordSource)
        after = request.number("after", 0)
        return json_answer(exact(source.after([after] * len(source.rings()))))

    @routed(Route("GET", "/api/v1/console/bookie", "the state of the bookie: why it is read-only and since when; for "
                  "each disk, how fast it fills"))  # fmt: skip
    async def _bookie(self, request: ApiRequest) -> Answer:
        return await self._state("bookie")

    @routed(Route("GET", "/api/v1/console/latency", "what slow requests wait for, and the mean times of the journals"))
    async def _latency(self, request: ApiRequest) -> Answer:
        return await self._state("latency")

    @routed(Route("GET", "/api/v1/console/work", "garbage collection, compaction and scrub, with their progress"))
    async def _work(self, request: ApiRequest) -> Answer:
        return await self._state("work")

    @routed(
        Route("GET", "/api/v1/console/journals",
              "the newest groups of each journal: time, entries, bytes, and ms of queue, write and sync",
              parameters=(Parameter("after", "the number of the last known group", "integer", least=0),)),
    )  # fmt: skip
    async def _journals(self, request: ApiRequest) -> Answer:
        return self._records("journals", request)

    @routed(
        Route("GET", "/api/v1/console/slow_requests",
              "the newest slow requests: time, operation, client, ledger, entry, entries, ms, what they waited for",
              parameters=(Parameter("after", "the number of the last known request", "integer", least=0),)),
    )  # fmt: skip
    async def _slow_requests(self, request: ApiRequest) -> Answer:
        return self._records("slow", request)

    @routed(
        Route("GET", "/api/v1/console/entry_logs",
              "live and dead bytes of the sealed entry logs, a thousand a page, and what compactions would free",
              parameters=(Parameter("page", "number of the page, from 1 on", "integer", least=1),), refusals=(503,)),
    )  # fmt: skip
    async def _entry_logs(self, request: ApiRequest) -> Answer:
        page, work = request.number("page", 1), self._admin.background()
        forecast = await work.log_space()
        logs, deleted, status = forecast.logs, forecast.deleted, work.collection()
        dead = [log for log in logs if not log.live]
        return json_answer(
            {
                "logs": len(logs),
                "bytes": sum(log.n_bytes for log in logs),
                "live": sum(log.live for log in logs),
                "deletable": sum(log.n_bytes for log in dead),
                "obstacles": list(status.obstacles),
                "major": _told_of([log for log in logs if log.major], status.major),
                "minor": _told_of([log for log in logs if log.minor], status.minor),
                "leftOut": [
                    {"directory": each.directory, "log": name, "reason": reason}
                    for each in status.directories for name, reason in each.damaged.items()
                ],
                "deletedLedgers": {
                    "count": deleted.count, "read": deleted.read_at, "unreadSince": deleted.unread_since,
                    "reason": deleted.reason,
                },
                "directories": [
                    {"directory": each.directory, "measured": each.measured_at, "reason": each.reason}
                    for each in forecast.directories
                ],
                "page": [
                    [log.directory, log.log_id, log.n_bytes, log.live]
                    for log in logs[(page - 1) * LOGS_A_PAGE : page * LOGS_A_PAGE]
                ],
            }
        )

    @routed(
        Route("GET", "/api/v1/console/disk_ledgers",
              "the bytes of each ledger in the next entry logs of a directory, deleted ledgers included",
              parameters=(Parameter("directory", "its ``current`` directory", required=True),
                          Parameter("after", "the id of the last entry log that was counted", "integer", least=-1)),
              refusals=(503,)),
    )  # fmt: skip
    async def _disk_ledgers(self, request: ApiRequest) -> Answer:
        """Answer with the size in bytes of each ledger's entries, summed up over at most 20 entry logs of a directory.

        The request has the path of the directory, and as ``after`` the id of the entry log after which to begin.  The
        JSON object of the answer has a member ``next``: the value of ``after`` for the next request, or null.  The
        member ``freed`` has the bytes of each ledger that are in entry logs whose dead bytes a collection with
        compaction frees, and ``stays`` says how long dead bytes in the others stay.  While the directory or its index
        cannot be written, nothing is freed.
        """
        directory, after = request.parameters.get("directory", ""), request.number("after", -1)
        work = self._admin.background()
        reasons = {current(usage.directory): usage.reason for usage in await self._admin.disks()}
        if directory not in reasons:
            raise IncorrectParameterError(f"{directory!r} is no ledger directory of this bookie")
        ids = sorted(log.log_id for log in await work.entry_logs(directory))
        chosen = [log_id for log_id in ids if log_id > after][:LOGS_A_STEP]
        if after < 0 or directory not in self._freed:
            self._freed[directory] = await self._freed_logs(directory)
        directories = work.collection().directories
        prevented = _prevented(directory, reasons[directory], self._admin.state().reasons, directories)
        found, freed = Counter[int](), Counter[int]()
        for log_id in chosen:
            try:
                ledgers = await work.ledgers_of(directory, log_id)
            except IncorrectParameterError:
                continue  # the garbage collection has deleted the log since the listing
            found.update(ledgers)
            if log_id in self._freed[directory] and not prevented:
                freed.update(ledgers)
        left = [log_id for log_id in ids if chosen and log_id > chosen[-1]]
        return json_answer(
            {
                "logs": len(chosen),
                "left": len(left),
                "next": chosen[-1] if left else None,
                "ledgers": {str(ledger_id): n_bytes for ledger_id, n_bytes in found.items()},
                "freed": {str(ledger_id): n_bytes for ledger_id, n_bytes in freed.items()},
                "stays": prevented or _stays(work.collection()),
            }
        )

    async def _freed_logs(self, directory: str) -> frozenset[int]:
        """Return the entry logs of a directory that a collection with compaction would delete or copy now."""
        work = self._admin.background()
        logs, status = (await work.log_space()).logs, work.collection()
        major, minor = not status.major.refusals, not status.minor.refusals
        return frozenset(
            log.log_id for log in logs
            if log.directory == directory and (not log.live or (log.major and major) or (log.minor and minor))
        )  # fmt: skip


def _prevented(directory: str, reason: str, reasons: Sequence[str], directories: Sequence[DirectoryWork]) -> str:
    """Return how long dead bytes stay in a directory where no collection frees any now; empty if one does.

    :param directory: its ``current`` directory.
    :param reason: why the directory cannot be used; empty if it can.
    :param reasons: why the bookie is read-only.  Nothing of a directory is freed before the deletions are durable in
        its index, which takes a checkpoint; what failed in another directory alone prevents nothing here.
    :param directories: all directories, with their indexes.
    """
    if reason:
        return f"until the directory can be used again: {reason}"
    here = [path for each in directories if each.directory == directory for path in (each.directory, each.index)]
    known = [path for each in directories for path in (each.directory, each.index)]
    failed = [each for each in reasons if each.startswith((FAILED, INDEX_DIRECTORY))]
    failed = [each for each in failed if _names(each, here) or not _names(each, known)]
    return f"until a checkpoint succeeds: {failed[0]}" if failed else ""


def _names(reason: str, files: Sequence[str]) -> bool:
    """Test whether a ``reason`` for being read-only names the ledger or index directory of one of the ``files``."""
    paths = [path.rpartition("/current")[0] for path in files]
    return any(f" {path}{end}" in reason for path in paths for end in (": ", " cannot", "/ cannot"))


def _stays(status: CollectionStatus) -> str:
    """Return how long dead bytes stay in an entry log that neither a collection nor a compaction touches now."""
    kinds = [(status.major, "majorCompactionThreshold"), (status.minor, "minorCompactionThreshold")]
    kind, name = max(kinds, key=lambda each: each[0].threshold)
    if not kind.threshold:
        return "until their entry log has no live bytes, as compactions are switched off"
    refused = [f"no {name.partition('C')[0]} compaction runs now: {' and '.join(each.refusals)}"
               for each, name in kinds if each.threshold and each.refusals]  # fmt: skip
    until = f"until their entry log is complete, undamaged and less than {kind.threshold:.0%} live ({name})"
    return "; ".join([until, *refused])


def _told_of(chosen: Sequence[EntryLogSpace], status: CompactionStatus) -> Mapping[str, object]:
    """Return as JSON what a compaction of the ``chosen`` entry logs would free, and what prevents it now."""
    return attrs.asdict(compaction_gain(chosen)) | {"obstacles": list(status.obstacles)}
