"""The listing of all ledgers of a cluster in ascending order; an incomplete listing raises an error.

Bookies delete the entries of ledgers that a listing does not contain.  So a listing never ends early, and a missing
root or an unexpected node is an error.  A node that was removed during the listing is skipped, because nodes are only
removed when they contain no more ledgers.
"""

from collections.abc import AsyncIterator

from ....errors import MetadataError, NotInitializedError
from ..interfaces import NodeMissingError
from ..znodes import Znodes
from .layouts import LedgerForm, LedgerTree

MAX_ID = (1 << 63) - 1


class LedgerListing:
    """One listing of the ledgers in a tree of nodes.

    :param first: the smallest id to list.
    :param last: the largest id to list.
    """

    def __init__(self, znodes: Znodes, tree: LedgerTree, first: int, last: int) -> None:
        self._znodes = znodes
        self._tree = tree
        self._first = first
        self._last = last

    async def ids(self) -> AsyncIterator[int]:
        """Yield the ledger ids in ascending order.

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
        """Yield the ids of the ledgers in and below the nodes ``names``, which are children of the node ``path``.

        :param digits: the leading digits of these ids, taken from the names in ``path``.
        """
        level = path.removeprefix(self._znodes.root).count("/")
        is_leaf = level == len(form.groups) - 1
        for number, name in sorted((self._digits(form, level, path, name), name) for name in names):
            first, last = form.span(digits + number)
            if last < self._first or first > self._last:
                continue
            if is_leaf:
                # raise an error if the driver was closed, because a listing must never end early without an error
                self._znodes.session.check_open()
                yield self._checked(first, f"{path}/{name}")
                continue
            below = f"{path}/{name}"
            try:
                children = await self._znodes.fresh_children(below)
            except NodeMissingError:
                continue  # another client has removed the last ledger below this node, and the node itself
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
