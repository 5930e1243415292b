"""Makes objects for the client that access the system: TCP endpoints, random numbers, rack resolver, host name.

Other modules receive these objects as arguments, so that tests can pass different objects.
"""

import random
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

from twisted.internet.abstract import isIPAddress, isIPv6Address
from twisted.internet.endpoints import HostnameEndpoint, TCP4ClientEndpoint, TCP6ClientEndpoint
from twisted.internet.interfaces import IOpenSSLClientConnectionCreator, IReactorCore, IStreamClientEndpoint

from ..config.client import SCRIPT_RACKS, ClientConfig
from ..ledger.placement import Chance
from ..metadata.interfaces import IMetadataDriver
from ..placement.factories import create_rack_resolver
from ..placement.rack_script import RackScript
from ..placement.racks import IRackResolver, MappingResolver, NoRacks, ScriptResolver
from ..protocol.direct_transport import direct_reactor
from ..security.contexts import ClientTls, settings_of
from .connections.bookie_client import BookieAddresses, EndpointOf
from .connections.bookie_socket import EncryptionOf


def tcp_endpoints(reactor: IReactorCore, config: ClientConfig) -> EndpointOf:
    """Return a factory of TCP endpoints that have the configured connect time-out.

    IP addresses are used as they are; host names are looked up in a thread of the ``reactor``.

    :param config: the configuration; ``clientConnectTimeoutMillis`` is used.
    """
    timeout = config.client_connect_timeout_millis / 1000
    dialling = direct_reactor(reactor)

    def endpoint_of(host: str, port: int) -> IStreamClientEndpoint:
        if isIPAddress(host):
            return TCP4ClientEndpoint(dialling, host, port, timeout)
        if isIPv6Address(host):
            return TCP6ClientEndpoint(dialling, host, port, timeout)
        return HostnameEndpoint(dialling, host, port, timeout)

    return endpoint_of


def tls_to_bookies(addresses: BookieAddresses, config: ClientConfig, seconds: Callable[[], float]) -> EncryptionOf:
    """Return a function that prepares TLS connections to a bookie, with keys from the configured files.

    :param addresses: looks up the host of a bookie; the bookie's certificate must have the host's name or address.
    :param seconds: returns the time in seconds since 1970.
    :raises bookkeeper_twisted.errors.ConfigError: a file cannot be used, or the extra ``tls`` is not installed.
    """
    tls = ClientTls(settings_of(config), seconds)

    async def to_bookie(bookie_id: str) -> IOpenSSLClientConnectionCreator:
        return tls.connecting_to(await addresses.host_of(bookie_id))

    return to_bookie


def system_chance() -> Chance:
    """Return a random number generator seeded by the operating system."""
    return random.Random()


def rack_resolver(reactor: Any, config: ClientConfig, driver: IMetadataDriver) -> IRackResolver:
    """Make the configured resolver, which finds the rack of a bookie.

    A configured mapping file is used first, else the plugin that ``reppDnsResolverClass`` names, else a configured
    script.  If none of them is configured, every bookie is in the default rack.

    :param reactor: the reactor that runs the script.
    :param config: the configuration; the files that it names are not read yet.
    :param driver: the metadata driver of the cluster, which a plugin may use.
    :raises bookkeeper_twisted.errors.ConfigError: no plugin has the configured name.
    """
    if config.network_topology_mapping_file_name:
        return MappingResolver(Path(config.network_topology_mapping_file_name).read_text)
    if config.repp_dns_resolver_class != SCRIPT_RACKS:
        return create_rack_resolver(reactor, config, driver)
    if config.network_topology_script_file_name:
        return ScriptResolver(RackScript(reactor, config.network_topology_script_file_name).run)
    return NoRacks()


def local_host_name(config: ClientConfig) -> str:
    """Return the name of this machine, from which the placement policy finds the rack of the client.

    :param config: if it forbids a preference for bookies in this rack, an empty text is returned.
    """
    return "" if config.ignore_local_node_in_placement_policy else socket.gethostname()
