"""Finding bookies."""

from typing import cast

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.errors import BookieHandleNotAvailableError, MetadataError
from bookkeeper_twisted.metadata.interfaces import IRegistration
from bookkeeper_twisted.metadata.registered import bookie_address
from bookkeeper_twisted.model import BookieServiceInfo, Endpoint


class Registered:
    """A registration with one bookie."""

    def __init__(self, *protocols: str) -> None:
        self._endpoints = tuple(
            Endpoint(f"id-{protocol}", "10.0.0.1", 3181, protocol) for protocol in protocols
        )  # fmt: skip

    async def service_info(self, bookie_id: str) -> BookieServiceInfo:
        """What the bookie registered."""
        if not self._endpoints:
            raise MetadataError("not registered")
        return BookieServiceInfo(self._endpoints)


class BookieAddressTests(SynchronousTestCase):
    """Host and port."""

    def address(self, registered: Registered, bookie_id: str) -> tuple[str, int]:
        """What is found."""
        found = Deferred.fromCoroutine(bookie_address(cast(IRegistration, registered), bookie_id))
        return self.successResultOf(found)

    def test_registered(self) -> None:
        """A registered bookie listens where it says, whatever its id."""
        for bookie_id in ("bookie-1", "other:1"):
            self.assertEqual(self.address(Registered("http", "bookie-rpc"), bookie_id), ("10.0.0.1", 3181))

    def test_by_its_id(self) -> None:
        """The address of a bookie that is not registered, or without an endpoint of the protocol, is its id."""
        for registered in (Registered(), Registered("http")):
            self.assertEqual(self.address(registered, "host:3182"), ("host", 3182))
            self.assertEqual(self.address(registered, "[::1]:3182"), ("::1", 3182))

    def test_unknown(self) -> None:
        """An id that is no address is an error that names it."""
        for bookie_id in ("bookie-1", ":1", "host:", "host:x", "host:0", "host:65536", "host:\u0663"):
            found = Deferred.fromCoroutine(bookie_address(cast(IRegistration, Registered()), bookie_id))
            error = self.failureResultOf(found, BookieHandleNotAvailableError).value
            self.assertIn(bookie_id, str(error))
