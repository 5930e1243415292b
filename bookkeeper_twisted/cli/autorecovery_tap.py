"""The plugin behind ``twistd autorecovery``: makes a service from the options of the command line."""

import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from twisted.application.service import IService
from twisted.python.failure import Failure

from ..errors import BookKeeperError
from .options import AutorecoveryOptions as Options
from .process.bookies import Bookies, Startable
from .process.clock_steps import ClockSteps
from .process.exit_status import ExitStatus
from .process.reloading import Reload
from .process.service_manager import ServiceManager
from .tap import begin_log, forbid_cores, say_what_runs

__all__ = ["Options", "makeService"]


def makeService(options: Options) -> IService:
    """Make the autorecovery service from ``options``, on the global reactor of this process."""
    from twisted.internet import reactor

    begin_log(options.config)
    forbid_cores(options.config)
    status = ExitStatus(reactor)
    manager = ServiceManager.of_process(os.environ, reactor)
    service = autorecovery_service(reactor, options, status.fail, manager)
    reload = Reload(options.read, (options.config, options.client), service.bookies)
    status.on_hangup = partial(manager.reload, reload)
    return service


def autorecovery_service(
    reactor: Any, options: Options, fail: Callable[[], None], manager: ServiceManager
) -> Bookies:
    """Make the autorecovery service from ``options``, on a given reactor.

    If the configuration is unusable, this prints one line and ends the process with status 1.

    :param fail: called if the service fails; it ends the process with status 1.
    :param manager: the service manager of this process.
    """
    from ..embedding.autorecovery import make_autorecovery

    def make(on_failure: Callable[[Failure], None]) -> Iterator[Startable]:
        yield make_autorecovery(reactor, options.config, options.client)

    say_what_runs(options.config)
    try:
        return Bookies(make, fail, manager, ClockSteps(reactor), reactor, "autorecovery")
    except BookKeeperError as error:
        raise SystemExit(f"autorecovery: {error}") from None
