"""Placement policies ``random`` and ``rack-aware``, and the racks that Pulsar stores."""

from bookkeeper_twisted.placement.factories import (
    PulsarRacksFactory,
    RackAwarePlacementFactory,
    RandomPlacementFactory,
)

random = RandomPlacementFactory()
rack_aware = RackAwarePlacementFactory()
pulsar_racks = PulsarRacksFactory()
