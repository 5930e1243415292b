"""The wire protocols by number, for tests that run on both."""

from bookkeeper_twisted.codec.wire_protocol import IWireProtocol
from bookkeeper_twisted.codec.wires import V2, V3

WIRES: dict[int, IWireProtocol] = {2: V2, 3: V3}
