"""The placement policy that places the copies of an entry on several racks.

The rule: each write set, that is each ``Wq`` consecutive positions of the ensemble, is on at least ``min(Wq,
minNumRacksPerWriteQuorum)`` racks.  First, the bookies are shuffled; those with more free space tend to come first.
Then a backtracking search assigns a rack to each position, and prefers racks that have no position yet.  The search
finds an ensemble that follows the rule if there is one.  If there is none and the rule is not enforced, the policy
chooses an ensemble with as many racks per write set as possible.
"""

from collections.abc import Callable, Collection, Mapping, Sequence

from zope.interface import implementer

from ..errors import NotEnoughBookiesError
from ..ledger.placement import NOWHERE, Adherence, Candidates, Chance, RackSearch, can_span, shuffled
from .interfaces import IPlacementPolicy
from .racks import DEFAULT_RACK, BookieRacks


@implementer(IPlacementPolicy)
class RackAwarePlacement:
    """The policy that places each write set of ``Wq`` bookies on at least ``min(Wq, min_racks)`` racks.

    :param min_racks: least number of racks of a write set, ``minNumRacksPerWriteQuorum``.
    :param enforce: whether to fail if no ensemble meets the rule.  If so, bookies in the default rack are never chosen,
        because their real rack is unknown.
    :param max_multiple: greatest weight of a bookie in the random choice, as a multiple of the median free space; 0 for
        no limit.
    """

    def __init__(
        self, chance: Chance, racks: BookieRacks, min_racks: int = 2, enforce: bool = False, max_multiple: float = 3.0
    ) -> None:
        self._chance = chance
        self._racks = racks
        self._min_racks = min_racks
        self._enforce = enforce
        self._max_multiple = max_multiple

    async def prepare(self, bookies: Collection[str]) -> None:
        """Look up the racks of those ``bookies`` whose racks are not known yet."""
        await self._racks.learn(bookies)

    def rack_of(self, bookie_id: str) -> str:
        """Return the rack of the bookie ``bookie_id``; the default rack if it is unknown."""
        return self._racks.rack_of(bookie_id)

    # ---- a new ensemble ------------------------------------------------------------------------------

    def new_ensemble(
        self, size: int, write_quorum: int, candidates: Candidates,
        custom_metadata: Mapping[str, bytes] | None = None,
    ) -> Sequence[str]:  # fmt: skip
        """Choose the bookies of a new ledger's ensemble, all different, from as many racks as the policy demands.

        See :meth:`~bookkeeper_twisted.placement.interfaces.IPlacementPolicy.new_ensemble` for parameters and errors.
        """
        by_rack: dict[str, list[str]] = {}
        bookies = self._drawn(candidates, ())
        if len(bookies) < size:
            raise NotEnoughBookiesError(f"{size} bookies are needed, {len(bookies)} are available")
        for bookie_id in bookies:
            by_rack.setdefault(self._racks.rack_of(bookie_id), []).append(bookie_id)
        racks = self._racks_for(size, write_quorum, {rack: len(ids) for rack, ids in by_rack.items()})
        drawn = {rack: iter(ids) for rack, ids in by_rack.items()}
        return tuple(next(drawn[rack]) for rack in racks)

    def _racks_for(self, size: int, write_quorum: int, free: dict[str, int]) -> list[str]:
        wanted = self._wanted(write_quorum)
        # If the rule is not enforced, try fewer and fewer racks per write set.  The last try demands only one rack,
        # which every ensemble has, so it always succeeds.
        for target in (wanted,) if self._enforce else range(min(wanted, len(free)), 0, -1):
            racks = RackSearch(size, write_quorum, target, dict(free), self._racks.local_rack).run()
            if racks is not None:
                return racks
        raise NotEnoughBookiesError(
            f"no {size} bookies with {wanted} racks in each write set, among {sum(free.values())} on {len(free)} racks"
        )

    def _wanted(self, write_quorum: int) -> int:
        return min(write_quorum, self._min_racks)

    def _drawn(self, candidates: Candidates, taken: Collection[str]) -> list[str]:
        bookies = shuffled(candidates, taken, self._chance, self._max_multiple)
        if self._enforce and self._min_racks > 1:
            return [bookie_id for bookie_id in bookies if self._racks.rack_of(bookie_id) != DEFAULT_RACK]
        return bookies

    # ---- a replacement -------------------------------------------------------------------------------

    def replace_bookie(
        self, position: int, ensemble: Sequence[str], write_quorum: int, candidates: Candidates,
        custom_metadata: Mapping[str, bytes] | None = None,
    ) -> str:  # fmt: skip
        """Choose a bookie in the replaced bookie's rack, else in a rack that no other member uses, else in any rack."""
        bookies = self._drawn(candidates, ensemble)
        if not bookies:
            raise NotEnoughBookiesError("all bookies are in the ensemble, excluded, or in no known rack")
        racks: list[str | None] = [self._place(bookie_id) for bookie_id in ensemble]
        lost = racks[position]
        others = {rack for p, rack in enumerate(racks) if p != position}
        wanted = self._wanted(write_quorum)

        def keeps_the_rule(rack: str) -> bool:
            tried = [*racks[:position], rack, *racks[position + 1 :]]
            return can_span(tried, write_quorum, position, wanted)

        choices: list[Callable[[str], bool]] = [
            lambda rack: rack == lost and keeps_the_rule(rack),
            lambda rack: rack not in others and keeps_the_rule(rack),
            keeps_the_rule,
        ]
        if not self._enforce:
            choices += [lambda rack: rack not in others, lambda rack: True]
        for accepts in choices:
            for bookie_id in bookies:
                if accepts(self._racks.rack_of(bookie_id)):
                    return bookie_id
        raise NotEnoughBookiesError(f"no bookie keeps {wanted} racks in each write set of position {position}")

    def _place(self, bookie_id: str) -> str:
        return self._racks.rack_of(bookie_id) if self._racks.is_known(bookie_id) else NOWHERE

    # ---- adherence to the rule ---------------------------------------------------------------------------

    def adherence(self, ensemble: Sequence[str], write_quorum: int) -> Adherence:
        """Return STRICT if each write set is on enough racks, otherwise FAIL; ignore bookies whose rack is unknown."""
        racks = [self._place(bookie_id) for bookie_id in ensemble]
        wanted = self._wanted(write_quorum)
        strict = all(can_span(racks, write_quorum, position, wanted) for position in range(len(racks)))
        return Adherence.STRICT if strict else Adherence.FAIL
