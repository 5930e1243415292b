"""The program ``bookkeeper-twisted``: runs the shell with real files, a real terminal and a real network.

``python -m bookkeeper_twisted`` is the same.  The commands are ``shell`` and ``token``; :mod:`.shell` and
:mod:`.tokens` parse the arguments after them.  :mod:`.entry` runs ``probe`` and ``drain`` without this module.
"""

import os
import signal
import sys
from collections.abc import Coroutine, Sequence
from functools import partial
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred
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
from .shell import run_shell
from .shell_command import FAILED, ShellWorld, StoreAccess
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


class DiskFiles:
    """Reads and writes files of this machine for commands of the shell."""

    def read(self, name: str) -> bytes:
        """Return the bytes of the file ``name``."""
        return Path(name).read_bytes()

    def write(self, name: str, data: bytes) -> None:
        """Write ``data`` to the file ``name``; replace an existing file."""
        Path(name).write_bytes(data)


def _send(
    reactor: Any, method: str, url: str, body: bytes, config: ClientConfig
) -> "Deferred[tuple[int, bytes]]":
    from .http_requests import send  # imported here, because only one command needs HTTP

    return Deferred.fromCoroutine(send(reactor, method, url, body, config))


def real_world(reactor: Any) -> ShellWorld:
    """Return the real environment of commands: the terminal, environment variables, files of this machine, and TCP.

    :param reactor: connects to bookies, the metadata store and HTTP servers; looks up host names in its threads.
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
    """Cancel a command as the reactor stops, after SIGINT or SIGTERM; let a further SIGINT end the process immediately.

    :param running: fires when the command has ended.
    :returns: None if the command has ended already.  Otherwise a Deferred that fires when it has ended: until then the
        command needs threads and connections, to release its locks.
    """
    signal.alarm(0)
    if running.called:
        return None
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    ended: Deferred[None] = Deferred()

    def has_ended(result: Any) -> Any:
        ended.callback(None)
        return result

    running.addBoth(has_ended)
    running.cancel()
    return ended


PATIENCE = 5
"""Seconds after a signal within which the reactor must begin to stop."""


def heed_signals(patience: int) -> None:
    """Let SIGINT and SIGTERM end even a command that blocks the reactor.

    Call this after the reactor has set its signal handlers.  The reactor handles a signal and stops, as usual.  If a
    blocking command keeps the reactor busy for ``patience`` seconds, KeyboardInterrupt is raised in the command.  A
    further SIGINT ends the process immediately.

    :param patience: seconds to wait for the reactor.
    """
    of_reactor = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def interrupted(number: int, frame: Any) -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        signal.alarm(patience)
        handler = of_reactor[signal.Signals(number)]
        if callable(handler):
            handler(number, frame)

    for number in of_reactor:
        signal.signal(number, interrupted)


def begin(
    reactor: Any, work: "Coroutine[Deferred[Any], Any, None]", patience: int = PATIENCE
) -> "Deferred[None]":
    """Start the coroutine ``work`` of this process; :func:`interrupt` will cancel it if the ``reactor`` stops.

    :param patience: see :func:`heed_signals`.
    """
    running = Deferred.fromCoroutine(work)
    reactor.addSystemEventTrigger("before", "shutdown", interrupt, running)
    reactor.callWhenRunning(heed_signals, patience)
    return running


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and end the process with the command's exit status.

    :param arguments: arguments of the command line, without the program; None for those of this process.
    :raises SystemExit: always, at the end.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] == ["--version"]:
        print(f"bookkeeper-twisted {__version__}")
        raise SystemExit(0)
    if given[:1] == ["token"]:
        from .tokens import run_tokens  # imported here, because the shell needs none of it

        raise SystemExit(run_tokens(given[1:]))
    if not given or given[0] != "shell":
        print(_HELP, end="")
        raise SystemExit(0 if given[:1] in (["help"], ["--help"], ["-h"]) else FAILED)
    from twisted.internet import reactor
    from twisted.internet.task import react

    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # of a name or a payload that the terminal cannot show
    warnings = FilteringLogObserver(textFileLogObserver(sys.stderr), [LogLevelFilterPredicate(LogLevel.warn)])
    globalLogBeginner.beginLoggingTo([warnings], redirectStandardIO=False, discardBuffer=True)

    async def run() -> None:
        status = await run_shell(given[1:], real_world(reactor))
        raise SystemExit(status)

    react(lambda _: begin(reactor, run()))
