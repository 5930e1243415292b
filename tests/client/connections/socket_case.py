"""Sockets on a network in memory, for the tests of the pool's parts."""

from twisted.trial.unittest import SynchronousTestCase

from benchmarks.shared.silent_bookie import ADDRESS, BOOKIE, SilentBookie

__all__ = ["ADDRESS", "BOOKIE", "SocketCase"]


class SocketCase(SilentBookie, SynchronousTestCase):
    """The base of tests with such a bookie."""

    def setUp(self) -> None:
        self.listen()
