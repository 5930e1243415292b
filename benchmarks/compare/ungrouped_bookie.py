"""A bookie that writes every reply by itself; it takes the arguments of ``python -m twisted``."""

import runpy

from bookkeeper_twisted.protocol.server.factory import BookieServerFactory
from bookkeeper_twisted.testing.ungrouped import UngroupedConnection

if __name__ == "__main__":
    BookieServerFactory.protocol = UngroupedConnection
    runpy.run_module("twisted", run_name="__main__", alter_sys=True)
