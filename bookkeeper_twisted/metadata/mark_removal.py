"""The rules by which replication workers and bulk repairs remove an underreplicated mark, or names from it.

An underreplicated mark says that a ledger may lack replicas, and contains the ids of lost bookies.  A worker has read
it and then checked the ledger.  It has found that each bookie in the mark is no longer in an ensemble of the ledger, or
stores all its entries.  (If the mark contains no bookie, the worker has checked all bookies of the ledger.)  During the
check, an auditor may have marked the ledger again.  So the mark is removed only if it still has the version that the
worker read.

The version alone is not enough.  If a bookie that the mark names is lost again, Apache's auditor leaves the mark as it
is, so its version does not change.  Therefore, if a named bookie is still in an ensemble of the ledger, three steps
follow:

1. Remove the names from the mark.  If the bookie is lost after this step, the auditor adds its name again, which gives
   the mark a new version.
2. Check whether the bookie is registered.  If it is not, it may have been lost before step 1, so mark the ledger again.
3. Remove the mark if it has the version of step 1.

So a ledger that lacks replicas always has a mark.  After a crash between the steps, the mark names no bookie, and a
replication worker then checks every bookie of the ledger.

A mark that cannot be decoded may name any bookie of the ledger.

If a ledger cannot be repaired, auditors add to its mark the name of each bookie that is lost, and such a bookie may
come back with all its entries.  So after a check, a worker removes the names of bookies that lack nothing, by steps 1
and 2.
"""

from collections.abc import Collection

from ..errors import MetadataVersionError, NotUnderreplicatedError
from ..model import UnderreplicatedLedger
from .interfaces import IRegistration, IUnderreplication, Versioned
from .registered import registered_bookies


async def remove_mark(
    marks: IUnderreplication, registration: IRegistration, ledger_id: int, mark: Versioned[UnderreplicatedLedger],
    bookies: Collection[str],
) -> bool:  # fmt: skip
    """Remove the underreplicated mark of a checked ledger, unless it was marked again or a bookie in it is lost.

    :param mark: the underreplicated mark that was read before the check of the ledger.
    :param bookies: ids of all bookies in the ensembles of the ledger.
    :returns: True if the ledger has no mark now.
    :raises bookkeeper_twisted.errors.MetadataError: the store failed; the underreplicated mark may be removed or not.
    """
    staying = frozenset(bookies if mark.value.problem else mark.value.replicas).intersection(bookies)
    try:
        if staying:
            mark = await marks.replace_mark(ledger_id, UnderreplicatedLedger((), mark.value.ctime), mark.version)
            gone = staying - await registered_bookies(registration)
            if gone:
                await marks.mark(ledger_id, sorted(gone), mark.value.ctime)
                return False
        await marks.remove_mark(ledger_id, mark.version)
    except NotUnderreplicatedError:
        return True
    except MetadataVersionError:
        return False
    return True


async def narrow_mark(
    marks: IUnderreplication, registration: IRegistration, ledger_id: int, mark: Versioned[UnderreplicatedLedger],
    bookies: Collection[str], lacking: Collection[str],
) -> None:  # fmt: skip
    """Remove from an underreplicated mark the names of bookies that lack nothing, unless the ledger was marked again.

    A mark without names stays as it is: it requests a check of all bookies.  If all named bookies lack nothing, the
    mark gets the names of the ``lacking`` ones instead; so does a mark that cannot be decoded.

    :param mark: the underreplicated mark that was read before the check of the ledger.
    :param bookies: ids of all bookies in the ensembles of the ledger.
    :param lacking: ids of the bookies that are lost, lack entries, or could not be checked.
    :raises bookkeeper_twisted.errors.MetadataError: the store failed; the names may be removed or not.
    """
    named = tuple(sorted(bookies)) if mark.value.problem else mark.value.replicas
    staying = tuple(each for each in named if each in lacking) or tuple(sorted(lacking))
    removed = frozenset(named).difference(staying)
    if not staying or not (removed or mark.value.problem):
        return
    try:
        await marks.replace_mark(ledger_id, UnderreplicatedLedger(staying, mark.value.ctime), mark.version)
    except (NotUnderreplicatedError, MetadataVersionError):
        return
    gone = removed.intersection(bookies) - await registered_bookies(registration)
    if gone:
        await marks.mark(ledger_id, sorted(gone), mark.value.ctime)
