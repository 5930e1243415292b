"""The rule by which replication workers and bulk repairs remove an underreplicated mark.

A mark is removed when every bookie that it names has left the ledger, or was found to store all entries that it should.
If the mark names no bookie, this holds for every bookie of the ledger.  Other clients may mark the ledger during this
check.  So the mark is read before the check, and is removed only if it still has the version that was read.  A ledger
that was marked again stays marked.

Apache's auditor does not change a mark that names the lost bookie already, so a second loss of this bookie leaves the
version as it is.  Therefore, if a named bookie is still in the ledger, its name is first removed from the mark.  If the
bookie is lost after that, the auditor adds the name again, which makes a new version.  If it was lost before, it is not
registered: this is found, and the ledger is marked again.  So a ledger that lacks entries is never without a mark.
After a crash in between, the mark names no bookie, and a worker checks every bookie of the ledger.
"""

from collections.abc import Collection

import attrs

from ..errors import MetadataVersionError, NotUnderreplicatedError
from ..model import UnderreplicatedLedger
from .interfaces import IRegistration, IUnderreplication, Versioned
from .registered import bookies_there


async def remove_mark(
    marks: IUnderreplication, registration: IRegistration, ledger_id: int, mark: Versioned[UnderreplicatedLedger],
    bookies: Collection[str],
) -> bool:  # fmt: skip
    """Remove the mark of a checked ledger, unless it was marked again or one of the named bookies is lost.

    :param mark: the mark that was read before the check of the ledger.
    :param bookies: ids of all bookies in the ensembles of the ledger.
    :returns: whether the ledger has no mark any more.
    :raises bookkeeper_twisted.errors.MetadataError: the store failed; the mark may be removed or not.
    """
    staying = frozenset(mark.value.replicas).intersection(bookies)
    try:
        if staying:
            mark = await marks.replace_mark(ledger_id, attrs.evolve(mark.value, replicas=()), mark.version)
            gone = staying - await bookies_there(registration)
            if gone:
                await marks.mark(ledger_id, sorted(gone), mark.value.ctime)
                return False
        await marks.remove_mark(ledger_id, mark.version)
    except NotUnderreplicatedError:
        return True
    except MetadataVersionError:
        return False
    return True
