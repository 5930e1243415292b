"""Finds the HTTP server of a bookie in the registration of the bookie."""

from collections.abc import Callable

from ..bookie.lifecycle.identity import is_loopback
from ..errors import ConfigError
from ..model import BookieServiceInfo
from .shell_command import OperandError


def server_url(bookie_id: str, info: BookieServiceInfo, local_bookie: Callable[[], str]) -> str:
    """Return ``scheme://host:port`` of the HTTP server of a bookie.

    :param bookie_id: id of the bookie.
    :param info: the endpoints that it has registered.
    :param local_bookie: returns the id of the bookie on this machine, or raises ConfigError.
    :raises OperandError: the bookie has no HTTP server, or its server accepts only clients of the same machine.
    """
    for endpoint in info.endpoints:
        if endpoint.protocol in ("http", "https"):
            closed = is_loopback(endpoint.host) and not is_loopback(info.endpoints[0].host)
            if closed and not _is_local(bookie_id, local_bookie):
                raise OperandError(f"bookie {bookie_id} serves HTTP on its own machine alone: httpServerHost opens it")
            return f"{endpoint.protocol}://{endpoint.host}:{endpoint.port}"
    raise OperandError(f"bookie {bookie_id} has no HTTP server: start it with httpServerEnabled=true")


def _is_local(bookie_id: str, local_bookie: Callable[[], str]) -> bool:
    try:
        return bookie_id == local_bookie()
    except ConfigError:  # no bookie is configured on this machine
        return False
