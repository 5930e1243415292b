"""Finds the wire protocols, which are plugins, and chooses those that a client uses.

Plugins are looked up once in a process.
"""

from collections.abc import Sequence
from functools import cache

import attrs
from twisted.plugin import IPlugin, getPlugins
from zope.interface import classImplements

from ..codec.wire_protocol import IWireProtocol
from ..codec.wires import V2, V3, V2Protocol, V3Protocol
from ..config.client import ClientConfig
from ..errors import ConfigError

__all__ = ["V2", "V3", "ClientWires", "client_wires", "wire_protocols"]

_AUTO = "auto"

classImplements(V2Protocol, IPlugin)
classImplements(V3Protocol, IPlugin)


@cache
def wire_protocols() -> Sequence[IWireProtocol]:
    """Return the protocols of all plugins, in the order in which a bookie tries them on a new connection."""
    return tuple(sorted(getPlugins(IWireProtocol), key=lambda protocol: protocol.rank))


@attrs.frozen
class ClientWires:
    """The wire protocols of a client.

    :ivar main: the protocol of adds, reads and batch reads.
    :ivar complete: the protocol of all other requests; it may be the same protocol.
    :ivar strict: whether adds that the main protocol cannot express are refused.  True if the main protocol is
        configured explicitly, so that no other protocol may be used instead.
    """

    main: IWireProtocol
    complete: IWireProtocol
    strict: bool = False

    def sockets(self, wire: IWireProtocol, limit: int) -> int:
        """Return the maximum number of sockets to a bookie that use the protocol ``wire``; 0 for no limit.

        If :attr:`main` and :attr:`complete` differ, the protocol ``complete`` gets one socket, and the protocol
        ``main`` gets the rest of ``limit``.  If they are the same protocol, it gets all sockets.

        :param limit: maximum number of sockets of both protocols together; 0 for no limit.
        """
        if not limit or self.main is self.complete:
            return limit
        return limit - 1 if wire is self.main else 1


def client_wires(config: ClientConfig) -> ClientWires:
    """Return the protocols that ``wireProtocol`` names.

    ``auto`` means V2, and V3 for the requests that V2 does not have; or V3 alone if only one socket is allowed.

    :raises bookkeeper_twisted.errors.ConfigError: no plugin provides the name; or the protocol does not have all kinds
        of requests, and ``maxConnectionsPerBookie`` allows no second socket for V3.
    """
    name, limit = config.wire_protocol, config.max_connections_per_bookie
    if name == _AUTO:
        return ClientWires(V3 if limit == 1 else V2, V3)
    main = config.chosen("wire_protocol", wire_protocols(), "wire protocol", (_AUTO,))
    if main.complete:
        return ClientWires(main, main)
    if limit == 1:
        raise ConfigError(
            f"maxConnectionsPerBookie = '1', {config.origin('max_connections_per_bookie')}: wireProtocol = {name} "
            f"takes at least 2, because what it does not have goes over V3"
        )
    return ClientWires(main, V3, strict=True)
