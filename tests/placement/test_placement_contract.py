"""The policies that plugins make pass the contract of placement policies, and resolvers that of resolvers."""

from random import Random
from typing import Any

from twisted.internet.defer import succeed
from twisted.internet.task import Clock

from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.placement.factories import create_placement
from bookkeeper_twisted.placement.rack_aware import RackAwarePlacement
from bookkeeper_twisted.placement.racks import BookieRacks, IRackResolver, MappingResolver, NoRacks, ScriptResolver
from bookkeeper_twisted.placement.random_placement import RandomPlacement
from bookkeeper_twisted.placement.stored_racks import StoredRacks
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


_RACKS = {bookie: f"/rack-{i % 3}" for i, bookie in enumerate(placement_contract.BOOKIES)}


class MappingResolverTests(placement_contract.RackResolverContract):
    """Racks from a table."""

    def make(self) -> MappingResolver:
        return MappingResolver(lambda: "\n".join(f"{bookie} {rack}" for bookie, rack in _RACKS.items()))


class ScriptResolverTests(placement_contract.RackResolverContract):
    """Racks from a program."""

    def make(self) -> ScriptResolver:
        return ScriptResolver(lambda hosts: succeed("\n".join(_RACKS[host] for host in hosts).encode()))


class StoredRacksTests(placement_contract.RackResolverContract):
    """Racks from a metadata store."""

    def make(self) -> StoredRacks:
        resolver = StoredRacks(Clock())
        resolver.changed(_RACKS)
        return resolver
