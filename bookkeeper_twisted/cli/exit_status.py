"""The exit status of a twistd process.

twistd knows two ends: an orderly one, status 0, and a signal, which it repeats against itself after the
reactor has stopped.  A bookie needs two more: status 1 when it could not start or had to stop by itself
(S10), and status 0 when it was asked to stop and did.  SIGHUP, which would end the process, is logged.
"""

import atexit
import os
import signal
from collections.abc import Callable
from typing import Any

from twisted.internet.error import ReactorNotRunning
from twisted.logger import Logger


class ExitStatus:
    """The exit status of this process.

    :param reactor: the reactor of the process, which is stopped.
    :param at_exit: registers a function for the very end of the process.
    :param leave: ends the process immediately.
    :param on_signal: sets the handler of a signal and returns the handler before.
    """

    _log = Logger()

    def __init__(
        self,
        reactor: Any,
        at_exit: Callable[[Callable[[], None]], object] = atexit.register,
        leave: Callable[[int], object] = os._exit,
        on_signal: Callable[[int, Callable[[int, object], None]], Any] = signal.signal,
    ) -> None:
        self._reactor = reactor
        self._leave = leave
        self._failed = False
        self._interrupt: Callable[[int, object], None] | None = None
        at_exit(self._at_exit)
        # Install the handlers once the reactor runs, because the reactor installs its own handlers when it starts.
        reactor.callWhenRunning(self._install, on_signal)

    def _install(self, on_signal: Callable[[int, Callable[[int, object], None]], Any]) -> None:
        on_signal(signal.SIGTERM, self._on_sigterm)
        on_signal(signal.SIGHUP, self._on_sighup)
        self._interrupt = on_signal(signal.SIGINT, self._on_sigint)

    def fail(self) -> None:
        """Stop the reactor; the process will end with status 1."""
        self._failed = True
        self._stop()

    def _on_sighup(self, number: int, frame: object) -> None:
        """Log and ignore SIGHUP, which a closing terminal or a request to reload the configuration sends."""
        self._reactor.callFromThread(self._log.info, "SIGHUP changes nothing: the configuration is read at the start")

    def _on_sigterm(self, number: int, frame: object) -> None:
        self._interrupt = None
        self._reactor.callFromThread(self._terminate)

    def _terminate(self) -> None:
        if self._stop():
            self._log.info("Received SIGTERM, shutting down.")  # the reactor logs the same text for SIGINT

    def _on_sigint(self, number: int, frame: object) -> None:
        """Pass the first SIGINT to the reactor, and ignore later ones: stopping a stopped reactor would fail."""
        interrupt, self._interrupt = self._interrupt, None
        if interrupt is not None:
            interrupt(number, frame)

    def _stop(self) -> bool:
        """Stop the reactor if it is running; return whether the reactor was running."""
        try:
            self._reactor.stop()
        except ReactorNotRunning:
            return False
        return True

    def _at_exit(self) -> None:
        # twistd has returned normally, and at this point an exception would not change the exit status.
        if self._failed:
            self._leave(1)
