"""Whole clusters in one process, the same for the same seed (design tenet 6).

Theory of operation.  A :class:`World` is one heap of calls in virtual time (:mod:`.clock`), a network of
pipes (:mod:`.network`, :mod:`.transport`, :mod:`.links`) and a metadata store (:mod:`.metadata`).  Nodes
live in it: a :class:`BookieNode` is the real store, engine and server connection on a simulated disk, a
:class:`ClientNode` the real client.  Nothing in them knows that it is simulated; what they
are given in place of the reactor, the disk, the network and the store is drawn from the seed.

A node that is killed takes its :class:`Life` with it: no call of that life happens any more.  A power
cut keeps on the disk what was synced and a drawn part of the rest.
"""

from bookkeeper_twisted.testing.streams import stream

from .autorecovery_node import AutorecoveryNode
from .bookie_node import BookieNode, BookieSettings
from .client_node import ClientNode
from .clock import Life, NodeClock, SimClock
from .metadata import MetadataFaults, SimMetadata
from .network import SimNetwork
from .witness import IWitness
from .world import World

__all__ = [
    "AutorecoveryNode", "BookieNode", "BookieSettings", "ClientNode", "IWitness", "Life", "MetadataFaults",
    "NodeClock", "SimClock", "SimMetadata", "SimNetwork", "World", "stream",
]  # fmt: skip
