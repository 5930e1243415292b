"""``twistd bookie``, which turns a command line into a service.  Only this module imports the global reactor."""

import gc
import resource
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from twisted.application.service import IService
from twisted.logger import (
    FilteringLogObserver,
    ILogObserver,
    LogBeginner,
    Logger,
    LogLevel,
    LogLevelFilterPredicate,
    globalLogBeginner,
)
from twisted.python.failure import Failure

from .. import __version__
from ..config.bookie import BookieConfig
from ..config.settings import Config
from ..errors import BookKeeperError
from .bookies import Bookies, Startable
from .exit_status import ExitStatus
from .options import Options

__all__ = ["Options", "makeService"]

_log = Logger()

_THRESHOLDS = (100_000, 5, 10)
_SWITCH_SECONDS = 0.001

Limit = Callable[[int], tuple[int, int]]
SetLimit = Callable[[int, tuple[int, int]], object]


def makeService(options: Options) -> IService:
    """Return the service of the bookies that the options describe, in this process and its reactor."""
    from twisted.internet import reactor

    limit_log(options.configs[0].log_level)
    allow_files()
    collect_seldom()
    switch_often()
    return bookies_service(reactor, options, ExitStatus(reactor).fail)


def limit_log(level: str, beginner: LogBeginner = globalLogBeginner) -> None:
    """Drop events below a ``level`` from the log of this process, which twistd opens after it makes the service.

    twistd chooses the observer by options of its own (``--logfile``, ``--syslog``, ``--logger``) and has none for a
    level, so the observer is wrapped on its way to the ``beginner`` of the log.

    :param level: the name of a level of :mod:`twisted.logger`.
    """
    begin, threshold = beginner.beginLoggingTo, LogLevelFilterPredicate(LogLevel.levelWithName(level))

    def begin_limited(observers: Iterable[ILogObserver], *args: Any, **options: Any) -> None:
        begin([FilteringLogObserver(observer, [threshold]) for observer in observers], *args, **options)

    beginner.beginLoggingTo = begin_limited  # type: ignore[method-assign]


def allow_files(limit: Limit = resource.getrlimit, set_limit: SetLimit = resource.setrlimit) -> None:
    """Raise the limit of open files, which many systems set to 1024, as far as this process may.

    :param limit: returns soft and hard limit of a resource.
    :param set_limit: sets them.
    """
    soft, hard = limit(resource.RLIMIT_NOFILE)
    if soft != hard:
        set_limit(resource.RLIMIT_NOFILE, (hard, hard))


def collect_seldom(set_thresholds: Callable[[int, int, int], object] = gc.set_threshold) -> None:
    """Let Python search for cycles of objects after 100,000 new objects, not after 700.

    A bookie keeps some objects for each ledger and makes many for a flush, none of them in cycles: with 100,000
    ledgers a third of the CPU of an add went into walking over them.

    :param set_thresholds: of the three generations.
    """
    set_thresholds(*_THRESHOLDS)


def switch_often(set_interval: Callable[[float], object] = sys.setswitchinterval) -> None:
    """Make Python switch between computing threads after one millisecond, not after five.

    While a flush computes, the reactor loses the interpreter with each call that waits for a socket, and has to ask for
    it back.

    :param set_interval: in seconds.
    """
    set_interval(_SWITCH_SECONDS)


def bookies_service(reactor: Any, options: Options, fail: Callable[[], None]) -> Bookies:
    """Return the Twisted service that runs the bookies described by the options.

    A configuration that cannot work ends the process here, with one line and status 1.

    :param fail: ends the process with status 1.
    """
    from ..embedding import make_bookie

    def make(on_failure: Callable[[Failure], None]) -> Iterator[Startable]:
        made = [(config, make_bookie(reactor, config, on_failure)) for config in options.configs]
        yield from [bookie for _, bookie in made]
        for config, bookie in made:
            if config.auto_recovery_daemon_enabled:
                yield _daemon(reactor, config, options, bookie)

    # One log line is enough: the bookies of a standalone cluster share one configuration.
    say_what_runs(options.configs[0])
    try:
        return Bookies(make, fail)
    except BookKeeperError as error:
        raise SystemExit(f"bookie: {error}") from None


def say_what_runs(config: Config) -> None:
    """Log the version, and the warnings and notes about the keys of a ``config``."""
    _log.info("bookkeeper-twisted {version}", version=__version__)
    for text in config.warnings:
        _log.warn("{text}", text=text)
    for text in config.notes:
        _log.info("{text}", text=text)


def _daemon(reactor: Any, config: BookieConfig, options: Options, bookie: Any) -> Startable:
    # Imported here, because a bookie without autorecovery should not spend memory on the modules of a client.
    from ..embedding.autorecovery import make_daemon

    attach = bookie.admin.limit_replication
    return make_daemon(reactor, config, options.client, lambda: bookie.bookie_id, bookie.instruments, attach)
