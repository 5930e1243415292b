"""The placement policies ``random`` and ``rack-aware``, and the resolver for the racks that Pulsar's tools store."""

from bookkeeper_twisted.placement.factories import (
    PulsarRacksFactory,
    RackAwarePlacementFactory,
    RandomPlacementFactory,
)

random = RandomPlacementFactory()
rack_aware = RackAwarePlacementFactory()
pulsar_racks = PulsarRacksFactory()
