"""What the console costs with a made cluster: a browser, and the event loop of the server.

``python -m benchmarks console [--bookies N] [--ledgers N] [--minutes N] [--viewers N]`` prints JSON: milliseconds to
the first paint and to the first data; for each page, milliseconds that the updates of a second take (time of the
page's thread), those of layout and style among them, and the longest task; KiB of the heap and number of nodes at the
begin and at the end; milliseconds of the server for each second without viewers, and for each of some viewers.
"""

import argparse
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from ..shared.browser import browser, missing
from ..shared.processes import ROOT, cpu_seconds

_STREAM = b"GET /api/v1/console/stream HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n"
_PAGES = ("#/overview", "#/bookies", "#/bookie", "#/work", "#/ledgers", "#/repair", "#/events")
_SAMPLE = 10.0
_FIRST = """
const [paint] = performance.getEntriesByName("first-contentful-paint");
return paint && document.getElementById("line").textContent.includes("live") ? [paint.startTime, window.dataAt] : null;
"""
_WATCH = """
new PerformanceObserver((list) => { for (const each of list.getEntries())
  window.longest = Math.max(window.longest || 0, each.duration); }).observe({type: "longtask", buffered: true});
document.addEventListener("DOMContentLoaded", () => new MutationObserver(() => {
  if (!window.dataAt && document.getElementById("line").textContent.includes("live")) window.dataAt = performance.now();
}).observe(document.getElementById("line"), {childList: true, subtree: true, characterData: true}));
"""


class Visit:
    """A browser that looks at the console.

    :param url: of the server.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self.driver = browser()
        self._ask("Page.addScriptToEvaluateOnNewDocument", source=_WATCH)

    def _ask(self, command: str, **arguments: object) -> Any:
        return self.driver.execute_cdp_cmd(command, arguments)

    def open(self) -> dict[str, float]:
        """Open the console; the times until something, and until data of the cluster, are painted."""
        self._ask("Performance.setTimeDomain", timeDomain="threadTicks")
        self._ask("Performance.enable")
        self.driver.get(f"{self._url}/console")
        deadline = time.monotonic() + 60
        while (found := self.driver.execute_script(_FIRST)) is None or found[1] is None:
            if time.monotonic() > deadline:
                raise RuntimeError("the console shows no data")
            time.sleep(0.1)
        return {"first_paint_ms": round(found[0]), "first_data_ms": round(found[1])}

    def metrics(self) -> dict[str, float]:
        """The numbers that the browser counts about the page."""
        return {each["name"]: each["value"] for each in self._ask("Performance.getMetrics")["metrics"]}

    def updates(self, page: str) -> dict[str, float]:
        """What the updates of a page cost in a second."""
        self.driver.execute_script("location.hash = arguments[0]", page)
        time.sleep(2)
        self.driver.execute_script("window.longest = 0")
        before, began = self.metrics(), time.monotonic()
        time.sleep(_SAMPLE)
        after, took = self.metrics(), time.monotonic() - began
        names = {"all_ms": "TaskDuration", "layout_ms": "LayoutDuration", "style_ms": "RecalcStyleDuration"}
        spent = {key: round(1000 * (after[name] - before[name]) / took, 2) for key, name in names.items()}
        longest = round(self.driver.execute_script("return window.longest || 0"))
        return spent | {"longest_task_ms": longest, "nodes": after["Nodes"]}

    def heap(self) -> dict[str, float]:
        """What is in memory after a garbage collection."""
        self._ask("HeapProfiler.collectGarbage")
        used = self._ask("Runtime.getHeapUsage")["usedSize"]
        return {"heap_kib": round(used / 1024), "nodes": self.metrics()["Nodes"]}


@contextmanager
def _viewers(port: int, count: int) -> Iterator[None]:
    """Viewers that read all that they get."""

    def read(peer: socket.socket) -> None:
        while peer.recv(1 << 16):
            pass

    with ExitStack() as stack:
        for _ in range(count):
            peer = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            peer.sendall(_STREAM)
            thread = threading.Thread(target=read, args=(peer,), daemon=True)
            thread.start()
            stack.callback(thread.join)
            stack.callback(peer.shutdown, socket.SHUT_RDWR)
        time.sleep(2)
        yield


def _server_ms(pid: int, seconds: float) -> float:
    before = cpu_seconds(pid)
    time.sleep(seconds)
    return 1000 * (cpu_seconds(pid) - before) / seconds


def server_cost(process: "subprocess.Popen[str]", port: int, viewers: int, seconds: float) -> dict[str, float]:
    """Milliseconds of the server's processor a second: without viewers, with one, and for each of several."""
    alone = _server_ms(process.pid, seconds)
    with _viewers(port, 1):
        one = _server_ms(process.pid, seconds)
    with _viewers(port, viewers):
        many = _server_ms(process.pid, seconds)
    return {
        "server_alone_ms": round(alone, 2), "first_viewer_ms": round(one - alone, 2),
        f"{viewers}_viewers_ms": round(many - alone, 2),
        "each_further_viewer_ms": round((many - one) / (viewers - 1), 3),
    }  # fmt: skip


def main(arguments: Sequence[str]) -> int:
    """Runs the command; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks console", description=__doc__)
    parser.add_argument("--bookies", type=int, default=1000)
    parser.add_argument("--ledgers", type=int, default=100_000)
    parser.add_argument("--minutes", type=float, default=10, help="how long the page stays open")
    parser.add_argument("--viewers", type=int, default=10)
    options = parser.parse_args(arguments)
    command = [sys.executable, "-m", "benchmarks.console.made", str(options.bookies), str(options.ledgers)]
    process = subprocess.Popen(command, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    found: dict[str, object] = {}
    with process:
        assert process.stdin is not None and process.stdout is not None
        with process.stdin:
            port = int(process.stdout.readline())
            found["server"] = server_cost(process, port, options.viewers, _SAMPLE)
            lacking = missing()
            if lacking:
                print(f"no browser: {lacking}", file=sys.stderr)
            else:
                found |= _in_browser(f"http://127.0.0.1:{port}", options.minutes)
    print(json.dumps(found, indent=2))
    return 0


def _in_browser(url: str, minutes: float) -> dict[str, object]:
    visit = Visit(url)
    try:
        found: dict[str, object] = {"begin": visit.open()}
        found["updates"] = {page: visit.updates(page) for page in _PAGES}
        visit.driver.execute_script("location.hash = '#/bookies'")
        heaps = []
        for _ in range(2):
            heaps.append(visit.heap())
            time.sleep(60 * minutes / 2)
        found["memory"] = [*heaps, visit.heap()]
        found["errors"] = [each["message"] for each in visit.driver.get_log("browser") if each["level"] == "SEVERE"]
        return found
    finally:
        visit.driver.quit()
