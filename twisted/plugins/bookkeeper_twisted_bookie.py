"""The commands ``twistd bookie`` and ``twistd autorecovery``."""

from typing import Any

from twisted.application.service import ServiceMaker

from bookkeeper_twisted.cli.ending import ended_at_once, hold_hangups


class _LateServiceMaker(ServiceMaker):
    """A command of ``twistd`` whose module is imported only if it is used.

    Ctrl-C ends ``twistd`` during the import.  SIGHUP does not: it waits until the reactor runs.
    """

    @property
    def options(self) -> Any:
        hold_hangups()
        with ended_at_once():
            return super().options


bookie = _LateServiceMaker("bookie", "bookkeeper_twisted.cli.tap", "A BookKeeper bookie.", "bookie")
autorecovery = _LateServiceMaker(
    "autorecovery",
    "bookkeeper_twisted.cli.autorecovery_tap",
    "An auditor and a replication worker of BookKeeper.",
    "autorecovery",
)
