"""The policies that plugins make pass the contract of placement policies."""

from random import Random
from typing import Any

from twisted.internet.task import Clock

from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.placement.factories import create_placement
from bookkeeper_twisted.placement.rack_aware import RackAwarePlacement
from bookkeeper_twisted.placement.racks import BookieRacks, IRackResolver, MappingResolver, NoRacks
from bookkeeper_twisted.placement.random_placement import RandomPlacement
from bookkeeper_twisted.testing.contracts import placement_contract


async def _host(bookie_id: str) -> str:
    return bookie_id.partition(":")[0]


def _made(name: str, resolver: IRackResolver) -> Any:
    return create_placement(
        Random(1), ClientConfig(ensemble_placement_policy=name), BookieRacks(Clock(), resolver, _host)
    )


class RandomPlacementTests(placement_contract.PlacementContract):
    """Any bookies."""

    def make(self) -> RandomPlacement:
        return _made("random", NoRacks())  # type: ignore[no-any-return]


class NoRacksTests(placement_contract.PlacementContract):
    """Several racks, where none is known."""

    def make(self) -> RackAwarePlacement:
        return _made("rack-aware", NoRacks())  # type: ignore[no-any-return]


class RackAwarePlacementTests(placement_contract.PlacementContract):
    """Several racks."""

    def make(self) -> RackAwarePlacement:
        hosts = [bookie.partition(":")[0] for bookie in placement_contract.BOOKIES]
        table = "\n".join(f"{host} /rack-{i % 3}" for i, host in enumerate(hosts))
        return _made("rack-aware", MappingResolver(lambda: table))  # type: ignore[no-any-return]
