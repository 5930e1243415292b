"""The plugin behind ``twistd bookie``: makes a service from the options of the command line."""

import gc
import os
import resource
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, cast

from twisted.application.service import IService
from twisted.logger import (
    FileLogObserver,
    FilteringLogObserver,
    ILogFilterPredicate,
    ILogObserver,
    LogBeginner,
    Logger,
    globalLogBeginner,
)
from twisted.python.failure import Failure

from .. import __version__
from ..config.bookie import JSON, BookieConfig
from ..config.settings import Config
from ..errors import BookKeeperError
from ..logs.json_lines import json_line
from ..logs.levels import LEVELS_OF_PROCESS, LogLevels
from .options import Options
from .process.bookies import Bookies, Startable
from .process.clock_steps import ClockSteps
from .process.exit_status import ExitStatus
from .process.reloading import Reload
from .process.service_manager import ServiceManager

__all__ = ["Options", "makeService"]

_log = Logger()

_THRESHOLDS = (100_000, 5, 10)
_SWITCH_SECONDS = 0.001

Limit = Callable[[int], tuple[int, int]]
SetLimit = Callable[[int, tuple[int, int]], object]


def makeService(options: Options) -> IService:
    """Set up this process for bookies, and make their service from ``options`` on the global reactor."""
    from twisted.internet import reactor

    begin_log(options.configs[0])
    forbid_cores(options.configs[0])
    allow_files()
    collect_seldom()
    switch_often()
    status = ExitStatus(reactor)
    manager = ServiceManager.of_process(os.environ, reactor)
    service = bookies_service(reactor, options, status.fail, manager)
    reload = Reload(options.read, (options.configs[0], options.client), service.bookies)
    status.on_hangup = partial(manager.reload, reload)
    return service


def begin_log(
    config: BookieConfig, beginner: LogBeginner = globalLogBeginner, levels: LogLevels = LEVELS_OF_PROCESS
) -> None:
    """Set the levels and the format of the log of this process.

    twistd starts the log after it has called ``makeService``.  Its options (``--logfile``, ``--syslog``, ``--logger``)
    choose a log observer, but set no level and no format.  So this function replaces the method of ``beginner`` that
    twistd will call.  The new method wraps each observer in a filter that drops events below the level of their
    namespace.  Lines for ``--syslog`` are never JSON.

    :param config: configuration with the levels and the format.
    :param beginner: Twisted's object that starts the log of a process.
    :param levels: the levels in force, which can change while the process runs.
    """
    levels.set(config.levels)
    begin, predicate = beginner.beginLoggingTo, cast(ILogFilterPredicate, levels)

    def begin_wrapped(observers: Iterable[ILogObserver], *args: Any, **options: Any) -> None:
        wrapped = list(observers)
        for observer in wrapped:
            if config.log_format == JSON and isinstance(observer, FileLogObserver):
                observer.formatEvent = json_line
        begin([FilteringLogObserver(observer, [predicate]) for observer in wrapped], *args, **options)

    beginner.beginLoggingTo = begin_wrapped  # type: ignore[method-assign]


def allow_files(limit: Limit = resource.getrlimit, set_limit: SetLimit = resource.setrlimit) -> None:
    """Raise the limit of open files of this process from the soft limit, often 1024, to the hard limit.

    :param limit: returns the soft and the hard limit of a resource.
    :param set_limit: sets both limits of a resource.
    """
    soft, hard = limit(resource.RLIMIT_NOFILE)
    if soft != hard:
        set_limit(resource.RLIMIT_NOFILE, (hard, hard))


def forbid_cores(config: BookieConfig, set_limit: SetLimit = resource.setrlimit) -> None:
    """Forbid core dumps of this process if it has private keys or other secrets in its memory.

    :param config: names the files with keys and secrets.
    :param set_limit: sets both limits of a resource.
    """
    if config.has_keys:
        set_limit(resource.RLIMIT_CORE, (0, 0))


def collect_seldom(set_thresholds: Callable[[int, int, int], object] = gc.set_threshold) -> None:
    """Let Python's garbage collector search for reference cycles after 100,000 new objects, instead of 700.

    A bookie keeps some objects for each ledger, and makes many objects for each flush, but they form no cycles.  With
    100,000 ledgers, the search took a third of the CPU time of an add.

    :param set_thresholds: sets the thresholds of the three generations of the garbage collector.
    """
    set_thresholds(*_THRESHOLDS)


def switch_often(set_interval: Callable[[float], object] = sys.setswitchinterval) -> None:
    """Let Python switch between threads after one millisecond, instead of five.

    The reactor releases the global interpreter lock whenever it waits for sockets.  If a flush computes in another
    thread at that moment, the reactor waits for this interval until it gets the lock again.

    :param set_interval: sets the interval, in seconds.
    """
    set_interval(_SWITCH_SECONDS)


def bookies_service(
    reactor: Any, options: Options, fail: Callable[[], None], manager: ServiceManager
) -> Bookies:
    """Make the Twisted service that runs bookies, from ``options``, on a given reactor.

    If the configuration is unusable, this prints one line and ends the process with status 1.

    :param fail: called if a bookie fails; it ends the process with status 1.
    :param manager: the service manager of this process.
    """
    from ..embedding import make_bookie

    def make(on_failure: Callable[[Failure], None]) -> Iterator[Startable]:
        made = [(config, make_bookie(reactor, config, on_failure)) for config in options.configs]
        yield from [bookie for _, bookie in made]
        for config, bookie in made:
            if config.auto_recovery_daemon_enabled:
                yield _daemon(reactor, config, options, bookie)

    # Log warnings for the first bookie only: all bookies of a standalone cluster have almost the same configuration.
    say_what_runs(options.configs[0])
    try:
        return Bookies(make, fail, manager, ClockSteps(reactor), reactor)
    except BookKeeperError as error:
        raise SystemExit(f"bookie: {error}") from None


def say_what_runs(config: Config) -> None:
    """Log the version of this package, and the warnings and notes about keys of ``config``."""
    _log.info("bookkeeper-twisted {version}", version=__version__)
    for text in config.warnings:
        _log.warn("{text}", text=text)
    for text in config.notes:
        _log.info("{text}", text=text)


def _daemon(reactor: Any, config: BookieConfig, options: Options, bookie: Any) -> Startable:
    # Imported here, because it imports the modules of a client: a bookie without autorecovery saves their memory.
    from ..embedding.autorecovery import make_daemon

    attach = bookie.admin.limit_replication
    return make_daemon(reactor, config, options.client, lambda: bookie.bookie_id, bookie.instruments, attach)
