"""``twistd autorecovery``, which turns a command line into a running service."""

from collections.abc import Callable, Iterator
from typing import Any

from twisted.application.service import IService
from twisted.python.failure import Failure

from ..errors import BookKeeperError
from .bookies import Bookies, Startable
from .exit_status import ExitStatus
from .options import AutorecoveryOptions as Options
from .tap import limit_log, say_what_runs

__all__ = ["Options", "makeService"]


def makeService(options: Options) -> IService:
    """Return the service of autorecovery that the options describe, in this process and its reactor."""
    from twisted.internet import reactor

    limit_log(options.config.log_level)
    return autorecovery_service(reactor, options, ExitStatus(reactor).fail)


def autorecovery_service(reactor: Any, options: Options, fail: Callable[[], None]) -> Bookies:
    """Return the service of autorecovery that the options describe, on any reactor.

    A configuration that cannot work ends the process here, with one line and status 1.

    :param fail: ends the process with status 1.
    """
    from ..embedding.autorecovery import make_autorecovery

    def make(on_failure: Callable[[Failure], None]) -> Iterator[Startable]:
        yield make_autorecovery(reactor, options.config, options.client)

    say_what_runs(options.config)
    try:
        return Bookies(make, fail, "autorecovery")
    except BookKeeperError as error:
        raise SystemExit(f"autorecovery: {error}") from None
