"""``twistd bookie``."""

from twisted.application.service import ServiceMaker

bookie = ServiceMaker("bookie", "bookkeeper_twisted.cli.tap", "A BookKeeper bookie.", "bookie")
