"""The program ``bookkeeper-twisted``: runs the shell with real files, a real terminal and a real network.

``python -m bookkeeper_twisted`` is the same.  The commands are ``shell`` and ``token``; :mod:`.shell` and
:mod:`.tokens` parse the arguments after them.  :mod:`.entry` runs ``probe`` and ``drain`` without this module.
"""

import errno
import os
import signal
import sys
from collections.abc import Collection, Coroutine, Sequence
from contextlib import suppress
from functools import partial
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.error import ReactorNotRunning
from twisted.internet.threads import deferToThreadPool
from twisted.logger import (
    FilteringLogObserver,
    LogLevel,
    LogLevelFilterPredicate,
    globalLogBeginner,
    textFileLogObserver,
)

from .. import __version__
from ..client.admin import BookKeeperAdmin
from ..client.bookkeeper import BookKeeper
from ..config.client import ClientConfig
from ..embedding.local_host import address_and_name, own_host
from ..placement.interfaces import IPlacementPolicy
from ..storage.apache.rocksdb import RocksKeyValues
from ..storage.files.filesystem import RealFileSystem
from ..storage.index.run_index import SqliteRunIndex
from .ending import show
from .shell import run_shell
from .shell_command import FAILED, INTERRUPTED, ShellWorld, StoreAccess
from .terminal.progress import LinesAndProgress
from .terminal.questions import ask
from .terminal.screen import open_screen

_HELP = """\
Usage: bookkeeper-twisted shell [-conf FILE] COMMAND ...
       bookkeeper-twisted token key | create | show ...
       bookkeeper-twisted probe ready | alive
       bookkeeper-twisted drain
       bookkeeper-twisted --version | --help

Looks at a BookKeeper cluster and administers it.

  shell COMMAND    the commands of Apache's bookkeeper shell: list, read, recover and delete ledgers,
                   list and check bookies; "bookkeeper-twisted shell help" lists them
  token COMMAND    makes and verifies the tokens by which clients authenticate; "token --help" says more
  probe, drain     what a container asks of the bookie in it; "probe --help" says more

Programs that are installed with this one:
  twistd bookie         a bookie, the server; "twistd bookie --help" lists its keys
  twistd autorecovery   an auditor and a replication worker
  bookkeeper-spark      checks, copies and measures whole clusters on Spark

Example, where "twistd -n --pidfile= bookie --data bookie --allowLoopback=true" runs:
  BK_metadataServiceUri=sqlite:///bookie/ledgers/metadata.db bookkeeper-twisted shell listledgers

Documentation: README.rst and docs/ of the source distribution; "make docs" builds it as HTML.
"""


_LONGEST_FILE = 16 << 20
"""Maximum number of bytes of a file that a command reads, such as a configuration, a cookie or ledger metadata."""


class DiskFiles:
    """Reads and writes files of this machine for commands of the shell."""

    def read(self, name: str) -> bytes:
        """Return the bytes of the file ``name``; raise OSError if it is longer than 16 MiB, such as ``/dev/zero``."""
        with open(name, "rb") as file:
            data = file.read(_LONGEST_FILE + 1)
        if len(data) > _LONGEST_FILE:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), name)
        return data

    def write(self, name: str, data: bytes) -> None:
        """Write ``data`` to the file ``name``; replace an existing file."""
        Path(name).write_bytes(data)


def _send(
    reactor: Any, method: str, url: str, body: bytes, config: ClientConfig
) -> "Deferred[tuple[int, bytes]]":
    from .http_requests import send  # imported here, because only one command needs HTTP

    return Deferred.fromCoroutine(send(reactor, method, url, body, config))


def real_world(reactor: Any) -> ShellWorld:
    """Return the environment for commands: the terminal, environment variables, files of this machine, and network.

    :param reactor: connects to bookies, the metadata store and HTTP servers; its thread pool looks up host names.
    """

    def connect(
        uri: str, config: ClientConfig, placement: IPlacementPolicy | None = None
    ) -> "Deferred[BookKeeperAdmin]":
        return BookKeeper.connect(reactor, uri, config, placement).addCallback(BookKeeperAdmin)

    def addresses(host: str) -> "Deferred[tuple[str, str]]":
        return deferToThreadPool(reactor, reactor.getThreadPool(), address_and_name, host)

    terminal = LinesAndProgress()
    return ShellWorld(
        reactor, os.environ, terminal.out, terminal.complain, ask,
        DiskFiles(), connect, addresses, own_host,
        StoreAccess(
            RealFileSystem(read_only=True), SqliteRunIndex.open_to_read, RealFileSystem(), SqliteRunIndex.open,
            RocksKeyValues.open,
        ),
        terminal.progress, partial(_send, reactor), partial(open_screen, reactor, os.environ),
    )  # fmt: skip


def interrupt(running: "Deferred[None]") -> "Deferred[None] | None":
    """Cancel the running command; the reactor calls this when it begins to stop.

    :param running: fires when the command has ended.
    :returns: None if the command has ended already; otherwise a Deferred that fires when the command has ended.  The
        reactor waits for this Deferred, because a cancelled command needs threads and connections to release its locks.
    """
    signal.alarm(0)
    if running.called:
        return None
    ended: Deferred[None] = Deferred()

    def has_ended(result: Any) -> Any:
        ended.callback(None)
        return result

    running.addBoth(has_ended)
    running.cancel()
    return ended


PATIENCE = 5
"""Seconds within which the reactor must begin to stop after a signal."""

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The signals that cancel a command.  Ctrl-C sends SIGINT; a terminal that is closed sends SIGHUP."""


def heed_signals(reactor: Any, numbers: Collection[int], patience: int) -> list[int]:
    """Set signal handlers that stop the ``reactor``.

    Call this after the reactor has set its own signal handlers, because this function replaces them.  A second SIGINT
    ends the process immediately.

    :param numbers: the signals to be handled.  Leave out a signal that this process ignored from its start, because
        its parent, such as nohup(1), wanted so; this function makes the process ignore the signal again.
    :param patience: seconds that the reactor has to stop after a signal.  If a blocking call of the command takes
        longer, the call is interrupted by KeyboardInterrupt.
    :returns: a list, to which the number of each received signal is appended.
    """
    told: list[int] = []

    def stop() -> None:
        with suppress(ReactorNotRunning):  # the reactor may have stopped meanwhile, because the command has ended
            reactor.stop()

    def interrupted(number: int, frame: Any) -> None:
        told.append(number)
        if signal.SIGINT in numbers:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        signal.alarm(patience)
        reactor.callFromThread(stop)

    for number in _ENDING:
        signal.signal(number, interrupted if number in numbers else signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, numbers)
    return told


def begin(
    reactor: Any, work: "Coroutine[Deferred[Any], Any, None]", patience: int = PATIENCE
) -> "Deferred[None]":
    """Start the coroutine ``work`` when the ``reactor`` runs; cancel it when a signal stops the reactor.

    :param patience: seconds that the reactor has to stop after a signal.  If it takes longer, KeyboardInterrupt is
        raised in the command.
    :returns: fires when the coroutine has ended.  After a signal, it fails with SystemExit and the exit status
        :data:`.INTERRUPTED`.
    """
    numbers = [number for number in _ENDING if signal.getsignal(number) is not signal.SIG_IGN]
    # Block the signals until heed_signals() has set its handlers.  Otherwise, a signal could raise KeyboardInterrupt
    # while the reactor starts, or stop the reactor before the command begins.
    signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    is_running: Deferred[None] = Deferred()

    async def heeding() -> None:
        await is_running
        told = heed_signals(reactor, numbers, patience)
        try:
            if not told:
                await work
        except (CancelledError, KeyboardInterrupt, SystemExit):
            if not told:
                raise
        finally:
            work.close()
            for number in numbers:  # the command has ended, so a signal may end the process at once
                signal.signal(number, signal.SIG_DFL)
        if told:
            raise SystemExit(INTERRUPTED)

    running = Deferred.fromCoroutine(heeding())
    reactor.addSystemEventTrigger("before", "shutdown", interrupt, running)
    reactor.callWhenRunning(is_running.callback, None)
    return running


def _occupy_descriptors() -> None:
    """Open the null device as file descriptor 0, 1 or 2 if the descriptor was closed before the program began.

    Otherwise, a file of a bookie could get this descriptor.  A library that prints an error would write into the file.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and end the process with the command's exit status.

    :param arguments: arguments of the command line, without the program; None for those of this process.
    :raises SystemExit: always, at the end.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] == ["--version"]:
        show(f"bookkeeper-twisted {__version__}")
        raise SystemExit(0)
    if given[:1] == ["token"]:
        from .tokens import run_tokens  # imported here, because only the command ``token`` needs this module

        if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
            # Let Ctrl-C raise KeyboardInterrupt instead of ending the process at once, so that the command can remove
            # an incomplete file.
            signal.signal(signal.SIGINT, signal.default_int_handler)
        raise SystemExit(run_tokens(given[1:]))
    if not given or given[0] != "shell":
        show(_HELP.rstrip())
        raise SystemExit(0 if given[:1] in (["help"], ["--help"], ["-h"]) else FAILED)
    from twisted.internet import reactor
    from twisted.internet.task import react

    _occupy_descriptors()
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # names and payloads may have unprintable characters
    observers = [] if sys.stderr is None else [textFileLogObserver(sys.stderr)]
    warnings = [FilteringLogObserver(each, [LogLevelFilterPredicate(LogLevel.warn)]) for each in observers]
    globalLogBeginner.beginLoggingTo(warnings, redirectStandardIO=False, discardBuffer=True)

    async def run() -> None:
        status = await run_shell(given[1:], real_world(reactor))
        raise SystemExit(status)

    react(lambda _: begin(reactor, run()))
