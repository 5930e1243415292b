"""Reports the state of this process to the service manager that started it, such as systemd.

The service manager names a datagram socket in ``NOTIFY_SOCKET``, and reads lines such as ``READY=1`` from it (see
sd_notify(3)).  A process without this variable reports nothing.
"""

import os
import socket
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence

from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger

from ...bookie.lifecycle.condition import Condition

Send = Callable[[bytes], object]

_INTERVAL = 1.0
"""Maximum number of seconds between two looks at the conditions of the services (starting, running, ...)."""

EXTENSION = 120
"""Seconds by which the service manager is asked to extend its timeout whenever the start of a service progresses."""

_MAX_UNSENT = 100
_MICROSECONDS = 1_000_000
_LEAST_WATCHDOG = 1000
"""Least accepted interval of the watchdog, in microseconds.  With a shorter one, pings would keep the process busy."""
_MOST_DIGITS = 20
_LONGEST_ADDRESS = 107
"""Maximum number of bytes in the name of a UNIX socket."""
_LONGEST_SHOWN = 100


Conditions = Callable[[], Sequence[tuple[str, Condition]]]
"""Returns a pair for each service: the name of the service and its present condition."""


class ServiceManager:
    """Sends reports about this process to its service manager.

    The service manager may have a watchdog: it restarts a process that does not send ``WATCHDOG=1``, a *ping*, in time.
    This object sends pings from the reactor, so a blocked reactor sends none.  It also sends none while a write of a
    journal lasts longer than the watchdog waits.

    :param send: sends a datagram to the service manager; None if there is no service manager.
    :param clock: the reactor of the process.
    :param watchdog: seconds that the watchdog waits for a ping; 0 if there is no watchdog.
    """

    _log = Logger()

    def __init__(self, send: Send | None, clock: IReactorTime, watchdog: float = 0.0) -> None:
        self._send = send
        self._clock = clock
        self._watchdog = watchdog
        self._interval = min(_INTERVAL, watchdog / 2) if watchdog else _INTERVAL
        self._conditions: Conditions = tuple
        self._unsent: deque[bytes] = deque(maxlen=_MAX_UNSENT)
        self._tick: IDelayedCall | None = None
        self._is_ready = False
        self._ends = False
        self._text = ""
        self._progress = 0
        self._pinged_at = 0.0
        self._is_stuck = False
        self._is_lost = False

    @classmethod
    def of_process(cls, environ: Mapping[str, str], clock: IReactorTime) -> "ServiceManager":
        """Return an object that reports to the service manager of this process.

        :param environ: environment variables; the service manager sets ``NOTIFY_SOCKET`` and ``WATCHDOG_USEC``.
        :param clock: the reactor of the process.
        """
        address, watchdog = environ.get("NOTIFY_SOCKET", ""), environ.get("WATCHDOG_USEC", "0")
        if not address:
            return cls(None, clock)
        if address[0] not in "/@" or not 1 < len(os.fsencode(address)) <= _LONGEST_ADDRESS:
            shown = address[:_LONGEST_SHOWN]
            cls._log.warn("NOTIFY_SOCKET = {address!r} is ignored: it is no UNIX socket", address=shown)
            return cls(None, clock)
        # If WATCHDOG_PID is the id of another process, the watchdog expects no pings from this process: the variables
        # were inherited from that process.
        other = environ.get("WATCHDOG_PID", "") not in ("", str(os.getpid()))
        return cls(datagrams_to(address), clock, 0.0 if other else cls._watchdog_of(watchdog))

    @classmethod
    def _watchdog_of(cls, text: str) -> float:
        """Convert ``WATCHDOG_USEC`` from microseconds to seconds; if it is invalid, log a warning and return 0."""
        is_number = text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS
        if not is_number or 0 < int(text) < _LEAST_WATCHDOG:
            cls._log.warn(
                "WATCHDOG_USEC = {text!r} is ignored: it is no number of microseconds from {least} on",
                text=text[:_LONGEST_SHOWN], least=_LEAST_WATCHDOG,
            )  # fmt: skip
            return 0.0
        return int(text) / _MICROSECONDS

    def watch(self, conditions: Conditions) -> None:
        """Begin to report the ``conditions`` of services, such as starting or running; call this before they start."""
        if self._send is not None:
            self._conditions = conditions
            self._look()

    def ready(self) -> None:
        """Report that all services have started."""
        self._is_ready, self._pinged_at = True, self._clock.seconds()
        self._say("READY=1", *self._news(self._conditions()))

    def stopping(self, reason: str = "stopping") -> None:
        """Report that the process ends, unless this was reported before.

        :param reason: why it ends.
        """
        if not self._ends:
            self._ends = True
            self._say("STOPPING=1", f"STATUS={_line(reason)}")

    def stopped(self) -> None:
        """End the periodic reports; call this when all services have stopped."""
        if self._tick is not None:
            self._tick.cancel()
            self._tick = None

    def reload(self, read: Callable[[], object]) -> None:
        """Call ``read``, which reads the configuration again; send a report before and after the call."""
        reported = self._is_ready and not self._ends
        if reported:
            self._say("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")
        try:
            read()
        finally:
            if reported:
                self._say("READY=1")

    def _look(self) -> None:
        """Send a report, and schedule the next call.

        The report contains the conditions of the services (starting, running, ...) if a condition has changed, and a
        ping for the watchdog if a ping is due.  While services start, the report also asks the service manager for
        more time whenever the start has progressed.
        """
        self._tick = self._clock.callLater(self._interval, self._look)
        found = self._conditions()
        lines = self._news(found)
        before, self._progress = self._progress, sum([condition.progress for _, condition in found])
        if not self._is_ready and self._progress != before:
            lines.append(f"EXTEND_TIMEOUT_USEC={EXTENSION * _MICROSECONDS}")
        if self._watchdog and self._is_ready and self._is_alive(found) and self._is_due():
            self._pinged_at = self._clock.seconds()
            lines.append("WATCHDOG=1")
        self._say(*lines)

    def _news(self, found: Sequence[tuple[str, Condition]]) -> list[str]:
        """Return a line with the conditions of all services if they have changed since the last call; else no line."""
        text = "; ".join(f"{name}: {condition.text}" for name, condition in found)
        before, self._text = self._text, text
        return [] if text == before else [f"STATUS={_line(text)}"]

    def _is_due(self) -> bool:
        """Test whether to send a ping now.

        It is time if, at the next report, more than half of the watchdog's time would have passed since the last ping.
        """
        return self._clock.seconds() + self._interval - self._pinged_at > self._watchdog / 2

    def _is_alive(self, found: Sequence[tuple[str, Condition]]) -> bool:
        """Test whether each journal still writes: no write has lasted longer than the watchdog waits.

        Log the first journal whose write lasts longer, once.
        """
        stuck = [(name, each.blocked) for name, each in found if each.blocked >= self._watchdog]
        if stuck and not self._is_stuck:
            name, seconds = stuck[0]
            self._log.critical(
                "{name}: a write of its journal has lasted {seconds:.1f} s: the service manager gets no sign of life "
                "until it ends", name=name, seconds=seconds,
            )  # fmt: skip
        self._is_stuck = bool(stuck)
        return not stuck

    def _say(self, *lines: str) -> None:
        if self._send is None:
            return
        if lines:
            self._unsent.append("\n".join(lines).encode(errors="backslashreplace"))
        try:
            while self._unsent:
                self._send(self._unsent[0])
                self._unsent.popleft()
                self._is_lost = False
        except BlockingIOError:
            pass  # the socket is full, because the service manager has not read it: try again with the next report
        except OSError as error:
            # Drop this report, but send later ones: the service manager may restart and read the socket again.
            self._unsent.clear()
            if not self._is_lost:
                self._log.warn("the service manager cannot be reached: {error}", error=str(error))
            self._is_lost = True


def datagrams_to(address: str) -> Send:
    """Return a function that sends a datagram to a UNIX socket without blocking.

    :param address: path of the socket; if it begins with ``@``, a name in the abstract namespace of Linux.
    """
    peer = f"\0{address[1:]}" if address[0] == "@" else address

    def send(data: bytes) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender:
            sender.setblocking(False)
            sender.sendto(data, peer)

    return send


def _line(text: str) -> str:
    return " ".join(text.split())
