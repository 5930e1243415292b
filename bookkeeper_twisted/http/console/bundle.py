"""The debug bundle: a zip archive with the data that a developer needs to analyse a problem, without secrets."""

import json
import platform
import sys
import traceback
from collections.abc import Awaitable, Callable, Iterator, Mapping
from importlib import metadata
from io import BytesIO
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from twisted.internet.defer import DeferredLock
from twisted.internet.task import deferLater

from ...authorization.interfaces import Permission
from ...masking import without_credentials
from ..api import Answer, ApiRequest
from ..routes import Access, Route, routed
from .history.events import EventLog, event_row

MOST_BYTES = 20 * 1024 * 1024
"""Maximum number of uncompressed bytes in a bundle; the file that would exceed them is truncated."""

_PIECES_A_TURN = 50
_PACKAGES = ("bookkeeper-twisted", "Twisted", "attrs", "protobuf", "google-crc32c", "prometheus-client", "kazoo",
             "cryptography", "pyOpenSSL")  # fmt: skip


class BundlePage:
    """Answers with a debug bundle.

    :param clock: the reactor.
    :param log: keeps the newest events and log lines.
    :param configuration: returns the configuration by key; secrets are masked.
    :param metrics: yields the text of the metrics.
    :param read_all: returns the data of all sources of the console as JSON.
    """

    def __init__(
        self, clock: Any, log: EventLog, configuration: Callable[[], Mapping[str, str]],
        metrics: Callable[[], Iterator[bytes]], read_all: Callable[[], Awaitable[str]],
    ) -> None:  # fmt: skip
        self._clock = clock
        self._log = log
        self._configuration = configuration
        self._metrics = metrics
        self._read_all = read_all
        self._began = clock.seconds()
        self._turn = DeferredLock()

    @routed(
        Route("GET", "/api/v1/console/bundle", "a zip archive: configuration with masked secrets, metrics, events, "
              "the newest log lines, what the console shows, stacks of threads, versions",
              content="application/zip", access=Access.ADMINISTRATOR, action=Permission.ADMIN_GET),
    )  # fmt: skip
    async def _bundle(self, request: ApiRequest) -> Answer:
        """Answer with a zip archive, whose files are made one by one; after each file, the reactor does other work.

        Only one bundle is made at a time.
        """
        async with self._turn:
            return await self._made()

    async def _made(self) -> Answer:
        archive, left = BytesIO(), MOST_BYTES
        with ZipFile(archive, "w", ZIP_DEFLATED, compresslevel=1) as file:
            for name, make in self._members().items():
                text = without_credentials(await make()).encode(errors="backslashreplace")[:left]
                left -= len(text)
                file.writestr(name, text)
                await deferLater(self._clock, 0)
        headers = {"Content-Disposition": 'attachment; filename="bookie-debug.zip"', "Cache-Control": "no-store"}
        return Answer(archive.getvalue(), 200, "application/zip", headers)

    def _members(self) -> Mapping[str, Callable[[], Awaitable[str]]]:
        return {
            "configuration.json": self._configuration_text, "versions.json": self._versions,
            "process.json": self._process, "console.json": self._read_all, "metrics.txt": self._metrics_text,
            "events.json": self._events, "log.jsonl": self._lines,
        }  # fmt: skip

    async def _configuration_text(self) -> str:
        return _dumped(dict(self._configuration()))

    async def _versions(self) -> str:
        found = {"Python": sys.version, "platform": platform.platform()}
        for name in _PACKAGES:
            try:
                found[name] = metadata.version(name)
            except metadata.PackageNotFoundError:
                continue
        return _dumped(found)

    async def _process(self) -> str:
        """Return the state of the reactor, and the stack trace of each thread, without the values of variables."""
        stacks = {
            str(number): traceback.format_stack(frame) for number, frame in sys._current_frames().items()
        }
        calls = self._clock.getDelayedCalls()
        return _dumped(
            {
                "uptime": round(self._clock.seconds() - self._began, 3),
                "reactor": type(self._clock).__name__,
                "delayedCalls": len(calls),
                "threads": stacks,
            }
        )

    async def _metrics_text(self) -> str:
        pieces = []
        for number, piece in enumerate(self._metrics()):
            pieces.append(piece)
            if number % _PIECES_A_TURN == _PIECES_A_TURN - 1:
                await deferLater(self._clock, 0)
        return b"".join(pieces).decode(errors="replace")

    async def _events(self) -> str:
        return _dumped([event_row(event) for event in self._log.events.after(0)])

    async def _lines(self) -> str:
        return "".join(self._log.lines.after(0))


def _dumped(value: object) -> str:
    return json.dumps(value, indent=1)
