"""The ids and addresses of registered bookies, writable or read-only."""

from ..errors import BookieHandleNotAvailableError, MetadataError
from .interfaces import IRegistration


async def bookies_by_mode(registration: IRegistration) -> tuple[frozenset[str], frozenset[str]]:
    """Return the ids of the writable and of the read-only bookies that are registered now.

    A bookie that changes its mode during the call is in at least one of the sets.

    :raises bookkeeper_twisted.errors.MetadataError: the store failed.
    """
    before = await registration.writable_bookies()
    read_only = await registration.read_only_bookies()
    # read the writable bookies again: a bookie may have become writable between the two reads
    return before | await registration.writable_bookies(), read_only


async def registered_bookies(registration: IRegistration) -> frozenset[str]:
    """Return the ids of all bookies that are registered now, writable or read-only.

    :raises bookkeeper_twisted.errors.MetadataError: the store failed.
    """
    writable, read_only = await bookies_by_mode(registration)
    return writable | read_only


async def bookie_address(registration: IRegistration, bookie_id: str) -> tuple[str, int]:
    """Find the host and port of a bookie: in its registration, or in a bookie id of the form ``host:port``.

    :raises BookieHandleNotAvailableError: neither the registration nor the id contains an address.
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
