"""Looks up the addresses of bookies, in their registrations or their ids."""

from ..errors import BookieHandleNotAvailableError, MetadataError
from .interfaces import IRegistration


async def bookie_address(registration: IRegistration, bookie_id: str) -> tuple[str, int]:
    """Find host and port of a bookie: by what it registered, else by an id that reads ``host:port``.

    :raises BookieHandleNotAvailableError: there is no address.
    """
    try:
        info = await registration.service_info(bookie_id)
    except MetadataError:
        return _host_and_port(bookie_id)
    for endpoint in info.endpoints:
        if endpoint.protocol == "bookie-rpc":
            return endpoint.host, endpoint.port
    return _host_and_port(bookie_id)


def _host_and_port(bookie_id: str) -> tuple[str, int]:
    host, _, port = bookie_id.rpartition(":")
    if not host or not (port.isascii() and port.isdigit()) or not 0 < int(port) < 65536:
        raise BookieHandleNotAvailableError(f"no address is known for bookie {bookie_id}")
    return host.strip("[]"), int(port)
