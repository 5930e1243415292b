"""The placement policy that ignores racks."""

from collections.abc import Collection, Mapping, Sequence

from zope.interface import implementer

from ..errors import NotEnoughBookiesError
from ..ledger.placement import Adherence, Candidates, Chance, shuffled
from .interfaces import IPlacementPolicy


@implementer(IPlacementPolicy)
class RandomPlacement:
    """The placement policy that chooses bookies at random; bookies with more free space are chosen more often.

    :param chance: the random numbers for the choices.
    :param max_multiple: greatest weight of a bookie in the random choice, as a multiple of the median free space; 0 for
        no limit.
    """

    def __init__(self, chance: Chance, max_multiple: float = 3.0) -> None:
        self._chance = chance
        self._max_multiple = max_multiple

    async def prepare(self, bookies: Collection[str]) -> None:
        """Do nothing, because this policy needs no facts about bookies."""

    def new_ensemble(
        self, size: int, write_quorum: int, candidates: Candidates,
        custom_metadata: Mapping[str, bytes] | None = None,
    ) -> Sequence[str]:  # fmt: skip
        """Choose the bookies of a new ledger's ensemble at random, all different.

        See :meth:`~bookkeeper_twisted.placement.interfaces.IPlacementPolicy.new_ensemble` for parameters and errors.
        """
        return self._draw(size, candidates, ())

    def replace_bookie(
        self, position: int, ensemble: Sequence[str], write_quorum: int, candidates: Candidates,
        custom_metadata: Mapping[str, bytes] | None = None,
    ) -> str:  # fmt: skip
        """Choose a bookie at random for one position of an ensemble, never a member of the ensemble.

        See :meth:`~bookkeeper_twisted.placement.interfaces.IPlacementPolicy.replace_bookie` for parameters and errors.
        """
        return self._draw(1, candidates, ensemble)[0]

    def adherence(self, ensemble: Sequence[str], write_quorum: int) -> Adherence:
        """Return STRICT: this policy has no rules that an ensemble could break."""
        return Adherence.STRICT

    def _draw(self, size: int, candidates: Candidates, taken: Collection[str]) -> tuple[str, ...]:
        bookies = shuffled(candidates, taken, self._chance, self._max_multiple)
        if len(bookies) < size:
            raise NotEnoughBookiesError(f"{size} bookies are needed, {len(bookies)} are available")
        return tuple(bookies[:size])
