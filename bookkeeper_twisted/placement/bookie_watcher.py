"""Watches which bookies are registered, and chooses ensembles from them."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeVar

from twisted.logger import Logger

from ..errors import MetadataError, NotEnoughBookiesError
from ..ledger.placement import Candidates
from ..metadata.interfaces import IRegistration
from ..metadata.registered import bookies_by_mode
from .free_space import FreeSpace
from .interfaces import IPlacementPolicy
from .quarantine import Quarantine

T = TypeVar("T")


class BookieWatcher:
    """The bookies that are registered at present, and the choice of ensembles from them by the placement policy.

    :ivar writable: ids of the bookies that accept new ledgers.
    :ivar read_only: ids of the bookies that only serve reads.
    :ivar placement: the policy that chooses ensembles.
    """

    _log = Logger()

    def __init__(
        self, registration: IRegistration, placement: IPlacementPolicy, quarantine: Quarantine | None = None,
        free_space: FreeSpace | None = None,
    ) -> None:  # fmt: skip
        """:param quarantine: the bookies to avoid in new ensembles; None to avoid none.
        :param free_space: the free space of bookies, which weights the choice; None to ignore it.
        """
        self.writable: frozenset[str] = frozenset()
        self.read_only: frozenset[str] = frozenset()
        self._registration = registration
        self.placement = placement
        self._quarantine = quarantine
        self._free_space = free_space
        self._missed: dict[str, None] = {}
        if quarantine is not None:
            quarantine.start()
        self._stop_watching = registration.watch_bookies(self._changed)

    async def look(self) -> None:
        """Read the list of registered bookies now, without waiting for the first report of the watch.

        :raises bookkeeper_twisted.errors.MetadataError: the metadata store does not answer.
        """
        self._changed(*await bookies_by_mode(self._registration))

    async def new_ensemble(
        self, size: int, write_quorum: int, custom_metadata: Mapping[str, bytes] | None = None
    ) -> tuple[str, ...]:
        """Choose the ensemble of a new ledger.

        :param custom_metadata: the custom metadata of the ledger, which a policy may use.
        :returns: ids of the bookies, all different, in the order of their positions in the ensemble.
        :raises bookkeeper_twisted.errors.NotEnoughBookiesError: fewer than ``size`` bookies are writable.
        """

        def choose(candidates: Candidates) -> tuple[str, ...]:
            return tuple(self.placement.new_ensemble(size, write_quorum, candidates, custom_metadata))

        return await self._choose(choose, ())

    async def replace_bookie(
        self, position: int, ensemble: Sequence[str], write_quorum: int, excluded: Collection[str],
        custom_metadata: Mapping[str, bytes] | None = None,
    ) -> str:  # fmt: skip
        """Choose a bookie for one position of an ensemble; never choose a member of the ensemble or an excluded bookie.

        :param position: index in the ensemble, from 0.
        :param excluded: bookies that failed, or were just chosen for other positions.
        :param custom_metadata: the custom metadata of the ledger, which a policy may use.
        :raises bookkeeper_twisted.errors.NotEnoughBookiesError: no other bookie is writable, or none is known and the
            metadata store does not answer.
        """

        def choose(candidates: Candidates) -> str:
            return self.placement.replace_bookie(position, ensemble, write_quorum, candidates, custom_metadata)

        try:
            return await self._choose(choose, excluded)
        except MetadataError as error:
            raise NotEnoughBookiesError(f"no other bookie is known, and {error}") from error

    async def _choose(self, choose: Callable[[Candidates], T], excluded: Collection[str]) -> T:
        """Return the result of ``choose`` for the bookies that are known to be writable.

        If these are too few, read the list of writable bookies from the metadata store, and call ``choose`` again.
        """
        try:
            return await self._choose_now(choose, excluded)
        except NotEnoughBookiesError:
            self._changed(await self._registration.writable_bookies(), self.read_only)
            return await self._choose_now(choose, excluded)

    async def _choose_now(self, choose: Callable[[Candidates], T], excluded: Collection[str]) -> T:
        """Call ``choose`` for the writable bookies that are not in quarantine; if these are too few, for all.

        Bookies in ``excluded`` are not chosen in either case.
        """
        await self.placement.prepare(self.writable)
        free_bytes = {} if self._free_space is None else self._free_space.free_bytes
        avoided = frozenset() if self._quarantine is None else self._quarantine.bookies
        if avoided:
            try:
                return choose(Candidates(self.writable, avoided.union(excluded), free_bytes))
            except NotEnoughBookiesError:
                pass
        return choose(Candidates(self.writable, excluded, free_bytes))

    def missed(self, bookies: Collection[str], why: Exception) -> None:
        """Warn that entries are not written to failed bookies, because no other bookie can replace them.

        A bookie is named in one warning only, even if it fails for many ledgers.  After the bookie has become writable
        again, its next failure causes a new warning.

        :param bookies: ids of the failed bookies.
        :param why: the error with which the bookies failed.
        """
        new = [bookie_id for bookie_id in bookies if bookie_id not in self._missed]
        self._missed.update(dict.fromkeys(new))
        if new:
            self._log.warn(
                "ledgers go on without {bookies}, with fewer copies of their entries, while these reach their ack "
                "quorums: {error}",
                bookies=", ".join(new), error=why,
            )  # fmt: skip

    def _changed(self, writable: frozenset[str], read_only: frozenset[str]) -> None:
        back = [bookie_id for bookie_id in self._missed if bookie_id in writable and bookie_id not in self.writable]
        for bookie_id in back:
            del self._missed[bookie_id]
            self._log.info("bookie {bookie_id} is back: ledgers that went on without it use it", bookie_id=bookie_id)
        self.writable, self.read_only = writable, read_only
        if self._free_space is not None:
            self._free_space.bookies_changed(writable)

    def stop(self) -> None:
        """Stop the watch of bookies, the checks of the quarantine, and the requests for free space."""
        self._stop_watching()
        if self._quarantine is not None:
            self._quarantine.stop()
        if self._free_space is not None:
            self._free_space.stop()
