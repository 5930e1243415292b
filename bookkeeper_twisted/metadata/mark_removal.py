"""The rule by which a mark of under-replication is removed, by workers and by bulk repairs alike.

A mark is removed once every bookie that it names (or every bookie of the ledger, if it names none) has left the ledger,
or was found to keep all entries that it should.  Other clients may mark the ledger during the check, so the mark is
read before the check and removed at that version: a ledger that was marked again since then stays marked.

Apache's auditor makes no new version of a mark that names its bookies already.  So where such a bookie is in the ledger
still, its name is taken out of the mark first: from then on another mark for it makes a new version, and a loss from
before is seen by asking the store which bookies are registered.  At no moment is there no mark of a ledger that lacks
something, and a crash in between leaves a mark without names, which makes a worker look at every bookie.
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
    """Remove the mark of a complete ledger, unless the ledger was marked again or one of its bookies was lost.

    :param mark: the mark as it was before the ledger was checked.
    :param bookies: ids of the bookies that the ledger names now.
    :returns: whether the ledger has no mark any more.
    :raises bookkeeper_twisted.errors.MetadataError: the store failed; the mark may be there or not.
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
