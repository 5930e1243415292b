"""Finds the names and addresses of this machine and of its network interfaces."""

import fcntl
import os
import pwd
import socket
import struct
from collections.abc import Callable, Sequence

import attrs
from twisted.internet.abstract import isIPAddress, isIPv6Address

from ..bookie.lifecycle.identity import check_loopback
from ..config.bookie import BookieConfig
from ..errors import ConfigError

_SIOCGIFADDR = 0x8915


def canonical_name(address: str) -> str:
    """Return the host name of an IP ``address``; if it has no name, return the address.  Blocks in the resolver."""
    try:
        name = socket.getnameinfo((address, 0), socket.NI_NAMEREQD)[0]
        found = {item[4][0] for item in socket.getaddrinfo(name, None)}
    except OSError:
        return address
    return name if address in found else address


def host_name() -> str:
    """Return the host name of this machine."""
    return socket.gethostname()


def process_user() -> str:
    """Return the name of the user that runs this process; if the user has no name, return the uid."""
    number = os.getuid()
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def http_names(config: BookieConfig) -> Sequence[str]:
    """Return the names that the HTTP server of a bookie or of autorecovery accepts in the ``Host`` header.

    :param config: the configuration, which adds more names in ``httpServerAllowedHosts``.
    """
    return (*config.http_server_allowed_hosts, config.http_server_host, config.advertised_address, host_name())


def local_host(config: BookieConfig) -> str:
    """Return the address of this machine for a bookie without an advertised address.  May block in the resolver.

    :param config: the configuration of the bookie.  If it sets ``listeningInterface``, return this value.
    """
    if config.listening_interface:
        return config.listening_interface
    try:
        return socket.gethostbyname(socket.gethostname())
    except OSError:
        # This machine cannot resolve its own name: use the loopback address; a later check of the bookie may refuse it.
        return "127.0.0.1"


def own_host(config: BookieConfig) -> str:
    """Return the host in the bookie id of a bookie on this machine: a name or an address.

    :param config: configuration of the bookie.
    :raises ConfigError: the configured network interface does not exist, or has no address or name that other machines
        can use.
    """
    config = resolve_addresses(config)
    return config.advertised_address or local_host(config)


def resolve_addresses(config: BookieConfig, name_of: Callable[[str], str] = canonical_name) -> BookieConfig:
    """Replace the name of a network interface in a configuration with the interface's address.

    If ``useHostNameAsBookieID`` is set, also set the advertised address to the host name of this machine.

    :param config: configuration of the bookie.
    :param name_of: returns the canonical name of an address, or the address if it has none.
    :raises ConfigError: there is no such interface, or it has no address or no name, or its address is a loopback
        address, which other machines cannot reach.
    """
    config = attrs.evolve(config, listening_interface=_interface(config))
    if config.use_host_name_as_bookie_id and not config.advertised_address:
        address = local_host(config)
        name = name_of(address)
        if name == address:
            raise ConfigError(
                f"useHostNameAsBookieID, {config.origin('use_host_name_as_bookie_id')}: {address} has no host name"
            )
        short = name.partition(".")[0]
        config = attrs.evolve(config, advertised_address=short if config.use_short_host_name else name)
    check_loopback(config, _address(config.advertised_address or local_host(config)))
    return config


def _interface(config: BookieConfig) -> str:
    name = config.listening_interface
    if not name or isIPAddress(name) or isIPv6Address(name):
        return name
    try:
        return interface_address(name)
    except OSError as error:
        origin = config.origin("listening_interface")
        raise ConfigError(f"listeningInterface = {name!r}, {origin}: {error.strerror}") from None


def _address(host: str) -> str:
    """Return the address of a host name; if it cannot be resolved, return the name, because clients may resolve it."""
    try:
        return str(socket.getaddrinfo(host, None)[0][4][0])
    except OSError:
        return host


def interface_address(name: str) -> str:
    """Return the IPv4 address of the network interface ``name``.

    :raises OSError: the interface does not exist, or has no address.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        # struct ifreq: 16 bytes for the name, then a struct sockaddr_in, which has the address at its byte 4
        answer = fcntl.ioctl(probe.fileno(), _SIOCGIFADDR, struct.pack("256s", name.encode()[:15]))
    return socket.inet_ntoa(answer[20:24])


def address_and_name(host: str) -> tuple[str, str]:
    """Return the address and the name of ``host``, which may be given as an address or as a name.  Blocks.

    If the resolver finds no name, the name is the address.  If it finds no address, the address is ``UNKNOWN``.
    """
    if isIPAddress(host) or isIPv6Address(host):
        try:
            return host, socket.gethostbyaddr(host)[0]
        except OSError:
            return host, host
    try:
        return socket.gethostbyname(host), host
    except OSError:
        return "UNKNOWN", host
