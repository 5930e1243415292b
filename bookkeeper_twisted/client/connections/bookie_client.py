"""The client's access to bookies over the network, and the resolution of their addresses."""

from collections.abc import Callable

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime, IStreamClientEndpoint

from ...config.client import ClientConfig
from ...errors import ClientClosedError
from ...instruments import Instruments
from ...metadata.interfaces import IRegistration
from ...metadata.registered import bookie_address
from ...protocol.authentication import AuthenticationDisabled, IClientAuthentication
from ...protocol.client.connection_limits import ConnectionLimits
from ...protocol.client.request_ids import FlowIds
from .bookie_socket import EncryptionOf, HostOf, Resolve, SocketSettings
from .flow import CountAnswer, Flow
from .metrics import ClientMetrics
from .pool import ConnectionPool

EndpointOf = Callable[[str, int], IStreamClientEndpoint]
"""A function that makes an endpoint from a host and a port."""


class BookieAddresses:
    """Looks up the address of a bookie in its registration, or else in its bookie id if this is ``host:port``."""

    def __init__(self, registration: IRegistration, endpoint_of: EndpointOf) -> None:
        self._registration = registration
        self._endpoint_of = endpoint_of

    def resolve(self, bookie_id: str) -> "Deferred[IStreamClientEndpoint]":
        """Return an endpoint for connections to the bookie ``bookie_id``.

        :raises bookkeeper_twisted.errors.BookieHandleNotAvailableError: no address is known.
        """
        return Deferred.fromCoroutine(self._resolve(bookie_id))

    async def _resolve(self, bookie_id: str) -> IStreamClientEndpoint:
        return self._endpoint_of(*await bookie_address(self._registration, bookie_id))

    async def host_of(self, bookie_id: str) -> str:
        """Return the name or the address of the machine of a bookie.

        :raises bookkeeper_twisted.errors.BookieHandleNotAvailableError: no address is known.
        """
        return (await bookie_address(self._registration, bookie_id))[0]


class NetworkBookieClient(Flow):
    """The sender of requests that belong to no ledger handle; it owns the connections of the client.

    It also makes a flow for each ledger handle: an object that sends the handle's requests over the same connections.

    :param resolve: looks up the endpoint of a bookie id; see :class:`BookieAddresses`.
    :param answered: called with the outcome of every request; None if no caller counts the outcomes.
    :param metrics: the metrics of the connections; by default metrics that are not exported.
    :param authentication: the way in which this client authenticates itself to bookies; by default none.
    :param encryption: makes the client's end of a TLS connection to a bookie id; by default connections are not
        encrypted.
    :param host_of: looks up the host of a bookie id, if the authentication needs it.
    """

    def __init__(
        self, clock: IReactorTime, resolve: Resolve, config: ClientConfig, answered: CountAnswer | None = None,
        metrics: ClientMetrics | None = None, authentication: IClientAuthentication | None = None,
        encryption: EncryptionOf | None = None, host_of: HostOf | None = None,
    ) -> None:  # fmt: skip
        metrics = metrics or ClientMetrics(Instruments())
        limits = ConnectionLimits(
            config.add_entry_timeout_sec, config.read_entry_timeout_sec, config.netty_max_frame_size_bytes
        )  # fmt: skip
        settings = SocketSettings(
            clock=clock, resolve=resolve, limits=limits, no_delay=config.client_tcp_no_delay, flow_ids=FlowIds(),
            authentication=authentication or AuthenticationDisabled(), encryption=encryption, host_of=host_of,
            encryption_is_direct=config.tls_direct,
            authentication_is_required=config.client_auth_required,
            connect_timeout=config.client_connect_timeout_millis / 1000, writes=metrics.writes,
        )  # fmt: skip
        super().__init__(ConnectionPool(settings, config, metrics.watch), answered)

    def close(self) -> "Deferred[None]":
        """Close all connections, and fail outstanding and later requests of this client and all its ledger handles."""
        error = ClientClosedError("the client was closed")
        self._refuse(error)
        return self.pool.close(error)
