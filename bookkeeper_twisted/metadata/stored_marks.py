"""Decodes stored underreplicated marks, and goes on with those that cannot be decoded.

Bytes that cannot be decoded still say that the ledger may lack replicas; only the bookies are unknown.  So such a mark
is one without names: a replication worker checks all bookies of the ledger.  If the ledger is marked again, the bytes
stay, and get a new version: a mark with the names of that time would leave out those that cannot be read.
"""

from twisted.logger import Logger

from ..codec.metadata_formats.underreplication import restore_underreplicated
from ..model import UnderreplicatedLedger
from .interfaces import Versioned

_MOST_LOGGED = 10_000


class StoredMarks:
    """Decodes the underreplicated marks that a driver reads, and logs each ledger whose mark it cannot decode once."""

    _log = Logger()

    def __init__(self) -> None:
        self._logged: dict[int, None] = {}

    def decode(self, ledger_id: int, data: bytes, version: int) -> Versioned[UnderreplicatedLedger]:
        """Decode the underreplicated mark of a ledger.

        :param data: the stored bytes of the mark.
        :param version: the version of these bytes.
        :returns: the mark with its version; a mark that cannot be decoded has the reason, and no bookies.
        """
        mark = restore_underreplicated(data)
        if not mark.problem:
            self._logged.pop(ledger_id, None)
        elif ledger_id not in self._logged:
            self._logged[ledger_id] = None
            if len(self._logged) > _MOST_LOGGED:
                del self._logged[next(iter(self._logged))]
            self._log.error(
                "ledger {ledger_id} counts as marked without names of bookies, as its mark cannot be decoded: {error}",
                ledger_id=ledger_id, error=mark.problem,
            )  # fmt: skip
        return Versioned(mark, version)
