"""Runs a program of the user, which prints the racks of hosts."""

from collections.abc import Sequence
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.error import ProcessDone, ProcessExitedAlready
from twisted.internet.protocol import ProcessProtocol
from twisted.python.failure import Failure

from ..errors import ConfigError

PATIENCE = 10.0
"""Seconds after which the program is killed if it has not ended."""


class RackScript:
    """Runs the program that prints the racks of hosts, as a child process.

    :param reactor: the reactor that starts the child processes and measures their time limit.
    :param path: the path of the program.
    """

    def __init__(self, reactor: Any, path: str) -> None:
        self._reactor = reactor
        self._path = path

    def run(self, hosts: Sequence[str]) -> "Deferred[bytes]":
        """Run the program with ``hosts`` as arguments, and return its output.

        :raises bookkeeper_twisted.errors.ConfigError: the program cannot be started, fails, or takes too long.
        """
        run = _Run(self._path)
        try:
            self._reactor.spawnProcess(run, self._path, [self._path, *hosts], env=None)
        except OSError as error:
            run.ended.errback(ConfigError(f"rack script {self._path}: {error.strerror}"))
            return run.ended
        patience = self._reactor.callLater(PATIENCE, run.kill)

        def ended(result: Any) -> Any:
            if patience.active():
                patience.cancel()
            return result

        return run.ended.addBoth(ended)


class _Run(ProcessProtocol):
    """One run of the program that prints racks; collects its output."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._printed: list[bytes] = []
        self._complaints: list[bytes] = []
        self.ended: Deferred[bytes] = Deferred(lambda _: self.kill())

    def outReceived(self, data: bytes) -> None:
        self._printed.append(data)

    def errReceived(self, data: bytes) -> None:
        self._complaints.append(data)

    def processEnded(self, reason: Failure) -> None:
        if self.ended.called:
            return
        if reason.check(ProcessDone):
            self.ended.callback(b"".join(self._printed))
        else:
            complaint = b"".join(self._complaints).decode("utf-8", "replace").strip()
            self.ended.errback(ConfigError(f"rack script {self._path}: {complaint or reason.getErrorMessage()}"))

    def kill(self) -> None:
        """Kill the process of the program."""
        try:
            self.transport.signalProcess("KILL")  # type: ignore[union-attr]
        except ProcessExitedAlready:
            pass  # the process has ended already, and Twisted will call processEnded()
