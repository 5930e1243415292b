"""The plugins for the wire protocols ``v2`` and ``v3``."""

from bookkeeper_twisted.protocol import wire_protocols

v2 = wire_protocols.V2
v3 = wire_protocols.V3
