"""The exit status of a twistd process.

A bookie ends with status 1 if it could not start, or had to stop because of an error.  It ends with status 0 after
SIGTERM or SIGINT.  SIGHUP does not end the process: the configuration is read again.  Without this module, twistd would
end with status 0 even after an error.  After SIGTERM or SIGINT, twistd would stop the reactor and then end by the same
signal, which it sends to itself.
"""

import atexit
import os
import signal
from collections.abc import Callable
from typing import Any

from twisted.internet.error import ReactorNotRunning
from twisted.logger import Logger

from ..ending import release_hangups


class ExitStatus:
    """Sets the exit status of this process, and handles the signals that stop it.

    :param reactor: the reactor of the process, which a failure stops.
    :param at_exit: registers a function to call at the end of the process.
    :param leave: ends the process immediately, with a status.
    :param on_signal: sets the handler of a signal and returns the previous one.
    :ivar on_hangup: called on the reactor's thread after SIGHUP.
    """

    _log = Logger()

    def __init__(
        self,
        reactor: Any,
        at_exit: Callable[[Callable[[], None]], object] = atexit.register,
        leave: Callable[[int], object] = os._exit,
        on_signal: Callable[[int, Any], Any] = signal.signal,
    ) -> None:
        self._reactor = reactor
        self._leave = leave
        self._on_signal = on_signal
        self._failed = False
        self._has_hung_up = False  # whether a SIGHUP is on its way to the reactor's thread
        self._interrupt: Callable[[int, object], None] | None = None
        self.on_hangup: Callable[[], object] = self._no_configuration
        at_exit(self._at_exit)
        # Install the handlers when the reactor runs, because the reactor installs its own handlers at its start.
        reactor.callWhenRunning(self._install)

    def _install(self) -> None:
        on_signal = self._on_signal
        on_signal(signal.SIGTERM, self._on_sigterm)
        on_signal(signal.SIGHUP, self._on_sighup)
        release_hangups()
        interrupt = on_signal(signal.SIGINT, self._on_sigint)
        if callable(interrupt):
            self._interrupt = interrupt
        else:  # the parent has set SIGINT to be ignored, as a shell does for a background command: ignore it again
            on_signal(signal.SIGINT, interrupt)

    def fail(self) -> None:
        """Stop the reactor; the process will end with status 1."""
        self._failed = True
        self._stop()

    def _on_sighup(self, number: int, frame: object) -> None:
        """Call :attr:`on_hangup` on the reactor's thread, to load the configuration again.

        SIGHUP never ends this process, not even if it comes from a terminal that was closed.  Several that come
        together are one.
        """
        if not self._has_hung_up:
            self._has_hung_up = True
            self._reactor.callFromThread(self._hang_up)

    def _hang_up(self) -> None:
        self._has_hung_up = False
        self.on_hangup()

    def _no_configuration(self) -> None:
        self._log.info("SIGHUP changes nothing: there is no configuration, yet")

    def _on_sigterm(self, number: int, frame: object) -> None:
        self._interrupt = None
        self._reactor.callFromThread(self._terminate)

    def _terminate(self) -> None:
        if self._stop():
            self._log.info("Received SIGTERM, shutting down.")  # for SIGINT, the reactor itself logs such a line

    def _on_sigint(self, number: int, frame: object) -> None:
        """Pass the first SIGINT to the reactor, which then stops; ignore later ones."""
        interrupt, self._interrupt = self._interrupt, None
        if interrupt is not None:
            interrupt(number, frame)

    def _stop(self) -> bool:
        """Stop the reactor; return False if it was not running."""
        try:
            self._reactor.stop()
        except ReactorNotRunning:
            return False
        return True

    def _at_exit(self) -> None:
        # twistd has returned already, so an exception could not change the exit status any more
        if self._failed:
            self._leave(1)
        # While the interpreter frees its modules, it replaces all handlers, and one more signal would end the process
        # with the status of that signal; a signal that is ignored stays ignored.
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            self._on_signal(number, signal.SIG_IGN)
