"""Placement policies: ``random`` and ``rack-aware``."""

from bookkeeper_twisted.client.placement.placement_factories import RackAwarePlacementFactory, RandomPlacementFactory

random = RandomPlacementFactory()
rack_aware = RackAwarePlacementFactory()
