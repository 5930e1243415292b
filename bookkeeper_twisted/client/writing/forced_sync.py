"""A sync of everything that bookies acknowledged of a ledger."""

from collections.abc import Sequence
from typing import cast

from twisted.internet.defer import FirstError, gatherResults

from ..interfaces import IBookieClient


async def force_ensemble(bookies: IBookieClient, ledger_id: int, ensemble: Sequence[str]) -> None:
    """Ask all bookies of an ensemble to sync: the copy of any of them may be needed.

    :param ensemble: ids of the bookies.
    :raises bookkeeper_twisted.errors.BookKeeperError: of the first that did not.
    """
    synced = [bookies.force(bookie_id, ledger_id) for bookie_id in ensemble]
    try:
        await gatherResults(synced, consumeErrors=True)
    except FirstError as error:
        raise cast(Exception, error.subFailure.value) from None
