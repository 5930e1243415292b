"""The generation of ledger ids: an id is the number that ZooKeeper gives to a sequential node, which is then removed.

Ids of up to 31 bits come from one counter.  When all of these are used, longer ids are generated: their high bits are
the number of a ``HOB-`` node, and their low bits come from a counter below this node.
"""

from twisted.internet.defer import Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure

from ....errors import MetadataError
from ..interfaces import NewNode, NodeExistsError, NodeMissingError
from ..znodes import Znodes
from .layouts import MAX_SHORT_ID, LedgerTree

_LONG = "idgen-long"
_HIGH = "HOB-"
_LOW = "ID-"
_KEPT = 3
"""How many of the newest ``HOB-`` nodes to keep, because slow clients may still generate ids below an older node."""


class LedgerIds:
    """The ledger id generator of one driver.

    :ivar has_long: whether the cluster has begun to use ids of more than 31 bits; once True, it stays True.
    """

    _log = Logger()

    def __init__(self, znodes: Znodes) -> None:
        self.has_long = False
        self._znodes = znodes
        self._high: list[int] = []

    async def draw(self, tree: LedgerTree) -> int:
        """Generate a ledger id that was never generated before and that no ledger has.

        :raises MetadataError: all ids of the layout are used, or ZooKeeper fails.
        """
        while True:
            ledger_id, drawn = await self._draw(tree)
            path = self._znodes.path(tree.path_of(ledger_id))
            removed = Deferred.fromCoroutine(self._znodes.delete(drawn)).addErrback(self._not_removed)
            taken = await self._znodes.exists(path)
            await removed
            if taken is None:
                return ledger_id

    async def _draw(self, tree: LedgerTree) -> tuple[int, str]:
        """Create a sequential node; return a ledger id made from the node's number, and the path of the node."""
        if tree.has_long_ids:
            self.has_long = self.has_long or await self._znodes.exists(self._znodes.path(_LONG)) is not None
        if not self.has_long:
            number, path = await self._next(*filter(None, (tree.id_parent,)))
            if number is not None:
                return number, path
            if not tree.has_long_ids:
                raise MetadataError(f"the ledger ids of {tree.factory} are used up")
            await self._znodes.ensure(self._znodes.path(_LONG), open=True)
            self.has_long = True
        return await self._draw_long()

    async def _draw_long(self) -> tuple[int, str]:
        while True:
            high = await self._current_high()
            low, path = await self._next(_LONG, f"{_HIGH}{high:010d}")
            if low is not None:
                return (high << 32) + low, path
            await self._add_high(high + 1)

    async def _current_high(self) -> int:
        """Return the highest number of a ``HOB-`` node; create the first such node if there is none."""
        if not self._high:
            names = await self._znodes.fresh_children(self._znodes.path(_LONG))
            self._high = sorted(int(name.removeprefix(_HIGH)) for name in names if _is_high(name))
            if not self._high:
                await self._add_high(1)
                return await self._current_high()
            await self._remove_old()
        return self._high[-1]

    async def _add_high(self, high: int) -> None:
        self._high = []
        try:
            await self._znodes.create(
                NewNode(self._znodes.path(_LONG, f"{_HIGH}{high:010d}"), open=True), lambda data, stat: True
            )
        except NodeExistsError:
            pass  # another client has created the node first

    async def _remove_old(self) -> None:
        for high in self._high[:-_KEPT]:
            try:
                await self._znodes.delete(self._znodes.path(_LONG, f"{_HIGH}{high:010d}"), 0)
            except MetadataError as error:
                self._log.debug("old ledger id counter stays: {error}", error=error)

    async def _next(self, *parent: str) -> tuple[int | None, str]:
        """Create a sequential node; return its number and its path.

        :param parent: the parts of the path of the parent node, after the root.
        :returns: the number, or None if it has more than 31 bits; and the path of the node.
        """
        prefix = self._znodes.path(*parent, _LOW)
        node = NewNode(prefix, ephemeral=True, sequence=True)
        try:
            digits = await self._znodes.create_sequence(node)
        except NodeMissingError:
            await self._znodes.ensure(prefix.rpartition("/")[0], open=_LONG in parent)
            digits = await self._znodes.create_sequence(node)
        number = int(digits)
        return (number if 0 <= number <= MAX_SHORT_ID else None), prefix + digits

    def _not_removed(self, failure: Failure) -> None:
        """Log that the sequential node of a ledger id was not removed; the server removes it when the session ends."""
        failure.trap(MetadataError)
        self._log.warn("the node of a ledger id stays until the session ends: {error}", error=failure.value)


def _is_high(name: str) -> bool:
    return name.startswith(_HIGH) and name.removeprefix(_HIGH).isdecimal()
