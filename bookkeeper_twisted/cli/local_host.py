"""What only the operating system knows of a bookie's address: its own name, and the addresses of interfaces."""

import fcntl
import socket
import struct

import attrs
from twisted.internet.abstract import isIPAddress, isIPv6Address

from ..config.bookie import BookieConfig
from ..errors import ConfigError

_SIOCGIFADDR = 0x8915


def local_host(config: BookieConfig) -> str:
    """Name or address of this machine, as the configuration wants it."""
    name = socket.gethostname()
    if config.use_host_name_as_bookie_id:
        return name.partition(".")[0] if config.use_short_host_name else name
    try:
        return socket.gethostbyname(name)
    except OSError:
        return "127.0.0.1"  # a machine that does not know its own name serves itself, if that is allowed


def resolve_addresses(config: BookieConfig) -> BookieConfig:
    """The configuration with names of interfaces replaced by their addresses.

    :raises ConfigError: there is no such interface, or it has no address.
    """
    name = config.listening_interface
    if name and not isIPAddress(name) and not isIPv6Address(name):
        try:
            config = attrs.evolve(config, listening_interface=interface_address(name))
        except OSError as error:
            origin = config.origin("listening_interface")
            raise ConfigError(f"listeningInterface = {name!r}, {origin}: {error.strerror}") from None
    if config.use_host_name_as_bookie_id and not config.advertised_address:
        config = attrs.evolve(config, advertised_address=local_host(config))
    return config


def interface_address(name: str) -> str:
    """The IPv4 address of a network interface.

    :raises OSError: there is no such interface, or it has none.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        # struct ifreq: the name in 16 bytes, then struct sockaddr_in with the address at its byte 4
        answer = fcntl.ioctl(probe.fileno(), _SIOCGIFADDR, struct.pack("256s", name.encode()[:15]))
    return socket.inet_ntoa(answer[20:24])


def address_and_name(host: str) -> tuple[str, str]:
    """The address of a host and its name, asking the resolver for the one that is not given; blocks."""
    if isIPAddress(host) or isIPv6Address(host):
        try:
            return host, socket.gethostbyaddr(host)[0]
        except OSError:
            return host, host
    try:
        return socket.gethostbyname(host), host
    except OSError:
        return "UNKNOWN", host
