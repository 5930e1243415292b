"""Requests of a container to the HTTP server of its own process."""

import io
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from http.server import BaseHTTPRequestHandler, HTTPServer

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.cli.probe import FAILED, MISUSED, run


class _Server(HTTPServer):
    """Answers every request with one status, and remembers them."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.status, self.text = status, text
        self.asked: list[tuple[str, str, bytes]] = []


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.asked.append((self.command, self.path, body))
        self.send_response(self.server.status)
        self.end_headers()
        self.wfile.write(self.server.text.encode())

    do_PUT = do_GET

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is logged."""


@contextmanager
def served(status: int, text: str) -> Iterator[_Server]:
    """A server in a thread."""
    with _Server(status, text) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


class ProbeTests(SynchronousTestCase):
    """Statuses and texts."""

    def run_(self, *arguments: str, **environ: str) -> tuple[int, str]:
        """The status of a command and what it has printed."""
        printed = io.StringIO()
        with redirect_stdout(printed):
            status = run(arguments, environ)
        return status, printed.getvalue()

    def test_serving(self) -> None:
        """A bookie that serves is ready and alive; the server is the one that the environment names."""
        with served(200, "OK\n") as server:
            for host in ("", "0.0.0.0", "127.0.0.1"):
                names = {"BK_httpServerHost": host, "BK_httpServerPort": str(server.server_port)}
                for command in ("ready", "alive"):
                    self.assertEqual(self.run_("probe", command, **names), (0, "OK\n"))
        self.assertEqual(set(server.asked), {("GET", "/heartbeat", b"")})

    def test_starting(self) -> None:
        """One that does not serve is alive and not ready, and why is printed."""
        with served(503, "the bookie is starting\n") as server:
            place = f"127.0.0.1:{server.server_port}"
            self.assertEqual(self.run_("probe", "ready", place), (FAILED, "the bookie is starting\n"))
            self.assertEqual(self.run_("probe", "alive", place), (0, "the bookie is starting\n"))

    def test_drain(self) -> None:
        """A bookie is made read-only; a refusal fails."""
        for status, expected in ((200, 0), (400, FAILED)):
            with served(status, "x") as server:
                self.assertEqual(self.run_("drain", f"127.0.0.1:{server.server_port}"), (expected, "x\n"))
            self.assertEqual(server.asked, [("PUT", "/api/v1/bookie/state/readonly", b'{"readOnly": true}')])

    def test_nobody(self) -> None:
        """Where nobody answers it fails, with one line."""
        with served(200, "OK") as server:
            port = server.server_port
        for command in (("probe", "alive"), ("probe", "ready"), ("drain",)):
            status, text = self.run_(*command, BK_httpServerPort=str(port))
            self.assertEqual((status, text), (FAILED, f"no answer from port {port}: [Errno 111] Connection refused\n"))

    def test_no_host(self) -> None:
        """A name that no host can have fails, with one line."""
        status, text = self.run_("probe", "alive", f"{'a' * 300}:80")
        self.assertEqual((status, text.count("\n"), text.partition(":")[0]), (FAILED, 1, "no answer from port 80"))

    def test_misused(self) -> None:
        """Other arguments are refused, with all that there are."""
        for arguments in (("probe",), ("probe", "steady"), ("drain", "a:1", "b:1"), ("probe", "ready", "a:1", "b:1")):
            status, text = self.run_(*arguments)
            self.assertEqual(status, MISUSED)
            self.assertIn("Usage: bookkeeper-twisted probe ready | alive", text)
        for command in ("probe", "drain"):
            self.assertEqual(self.run_(command, "--help")[0], 0)
        for place in ("nowhere", "h:0", "h:65536", "h:" + "9" * 400, "h:\u0661\u0662", "h:-1"):
            self.assertEqual(self.run_("probe", "ready", place), (MISUSED, f"{place}: HOST:PORT is expected\n"))

    def test_light(self) -> None:
        """The program imports neither Twisted nor attrs for it, as it is run every few seconds."""
        code = (
            "import sys; sys.argv[1:] = ['probe', '--help']; from bookkeeper_twisted.cli.entry import main\n"
            "try: main()\nfinally: print(sorted({'twisted', 'attr', 'zope'} & sys.modules.keys()))"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertTrue(done.stdout.endswith("\n[]\n"), done.stdout)
