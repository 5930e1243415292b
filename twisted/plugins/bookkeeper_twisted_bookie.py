"""``twistd bookie`` and ``twistd autorecovery``."""

from twisted.application.service import ServiceMaker

bookie = ServiceMaker("bookie", "bookkeeper_twisted.cli.tap", "A BookKeeper bookie.", "bookie")
autorecovery = ServiceMaker(
    "autorecovery",
    "bookkeeper_twisted.cli.autorecovery_tap",
    "An auditor and a replication worker of BookKeeper.",
    "autorecovery",
)
