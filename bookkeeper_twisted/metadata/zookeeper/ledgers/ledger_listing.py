"""The listing of all ledgers of a cluster in ascending order; an incomplete listing raises an error (S8).

Bookies remove what a listing does not name.  So a walk never ends early, a missing root is an error, and
so is a node that has no business there.  A node that vanishes while it is walked had no ledger left.
"""

from collections.abc import AsyncIterator

from ....errors import MetadataError, NotInitializedError
from ..interfaces import NodeMissingError
from ..znodes import Znodes
from .layouts import LedgerForm, LedgerTree

MAX_ID = (1 << 63) - 1


class LedgerListing:
    """A walk through the ledgers of a tree.

    :param first: the smallest id to list.
    :param last: the largest.
    """

    def __init__(self, znodes: Znodes, tree: LedgerTree, first: int, last: int) -> None:
        self._znodes = znodes
        self._tree = tree
        self._first = first
        self._last = last

    async def ids(self) -> AsyncIterator[int]:
        """Yield the ids in ascending order.

        :raises MetadataError: the listing is not complete.
        """
        try:
            top = await self._znodes.fresh_children(self._znodes.root)
        except NodeMissingError as error:
            raise NotInitializedError(f"{self._znodes.root} does not exist") from error
        for form in self._tree.forms:
            async for ledger_id in self._level(form, "", self._znodes.root, filter(form.is_top, top)):
                yield ledger_id

    async def _level(self, form: LedgerForm, digits: str, path: str, names: "filter[str]") -> AsyncIterator[int]:
        """Yield the ledger ids below the given nodes, which are on one level of the tree.

        :param digits: of the ids down to this level.
        """
        level = path.removeprefix(self._znodes.root).count("/")
        is_leaf = level == len(form.groups) - 1
        for number, name in sorted((self._digits(form, level, path, name), name) for name in names):
            first, last = form.span(digits + number)
            if last < self._first or first > self._last:
                continue
            if is_leaf:
                # a listing fails when the driver is closed: it must not end early without an error (S8)
                self._znodes.session.check_open()
                yield self._checked(first, f"{path}/{name}")
                continue
            below = f"{path}/{name}"
            try:
                children = await self._znodes.fresh_children(below)
            except NodeMissingError:
                continue  # the client that removed the last ledger below this node removed the node as well
            async for ledger_id in self._level(form, digits + number, below, filter(None, children)):
                yield ledger_id

    def _digits(self, form: LedgerForm, level: int, path: str, name: str) -> str:
        digits = form.digits(level, name)
        if digits is None:
            raise MetadataError(f"{path}/{name} is no node of a ledger: the listing cannot go on")
        return digits

    def _checked(self, ledger_id: int, path: str) -> int:
        if ledger_id > MAX_ID or self._znodes.path(self._tree.path_of(ledger_id)) != path:
            raise MetadataError(f"{path} is not where ledger {ledger_id} belongs: the listing cannot go on")
        return ledger_id
