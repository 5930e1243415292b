"""Placement policies: ``random`` and ``rack-aware``."""

from bookkeeper_twisted.placement.factories import RackAwarePlacementFactory, RandomPlacementFactory

random = RandomPlacementFactory()
rack_aware = RackAwarePlacementFactory()
