"""The rule for the last add confirmed (LAC) of an unclosed ledger: which answers of its bookies suffice.  No I/O."""

from collections.abc import Callable, Collection, Mapping, Sequence

import attrs

from ..codec.digest import Digester
from ..errors import BookKeeperError, ClientClosedError, ReadError, RequestTimeoutError, UnauthorizedAccessError
from ..model import INVALID_ENTRY_ID
from .read_answers import NO_ENTRY, with_bookie


@attrs.frozen
class LastConfirmed:
    """The LAC and the last entry of a ledger, according to one or more bookies.

    :ivar last_add_confirmed: the highest LAC that one of the bookies knows, -1 if they know none.
    :ivar entry_id: the highest id of an entry that one of the bookies returned, -1 if none did.
    :ivar length: length of the ledger in bytes up to and including the entry ``entry_id``.
    """

    last_add_confirmed: int = INVALID_ENTRY_ID
    entry_id: int = INVALID_ENTRY_ID
    length: int = 0

    def merged(self, other: "LastConfirmed") -> "LastConfirmed":
        """Return the higher LAC and the higher entry id (with its length) of this answer and the ``other``."""
        newest = max(self, other, key=lambda known: known.entry_id)
        lac = max(self.last_add_confirmed, other.last_add_confirmed)
        return LastConfirmed(lac, newest.entry_id, newest.length)


def verified_lac(digester: Digester, ledger_id: int, packet: bytes | None, last_entry: bytes | None) -> LastConfirmed:
    """Verify a bookie's answer to a request for the LAC; return the LAC and the last entry that the bookie knows.

    :param packet: the explicit LAC packet, None if the bookie has none.
    :param last_entry: the last entry that the bookie has, None if it has none.
    :raises bookkeeper_twisted.errors.DigestMatchError: the digest of the packet or of the entry is wrong.
    """
    known = LastConfirmed()
    if last_entry:
        entry = digester.entry(ledger_id, None, last_entry)
        known = LastConfirmed(entry.last_add_confirmed, entry.entry_id, entry.length)
    if packet:
        known = known.merged(LastConfirmed(digester.verify_lac(ledger_id, packet)))
    return known


class LacAnswers:
    """The answers of the bookies of a ledger's newest ensemble to requests for the LAC.

    An answer counts once it is verified; "no such entry" and "no such ledger" are answers, too.

    :ivar known: the highest LAC, and the entry with the highest id, in all answers that count.
    :ivar errors: the error of each bookie that failed, by bookie id.
    """

    def __init__(
        self, ledger_id: int, ensemble: Sequence[str], is_covered: Callable[[Collection[int]], bool]
    ) -> None:  # fmt: skip
        """:param ensemble: ids of the bookies, in the order of their positions.
        :param is_covered: tests whether answers of the bookies at given positions are enough, for example
            :meth:`.Schedule.is_covered`.
        """
        self.known = LastConfirmed()
        self.errors: dict[str, Exception] = {}
        self._ledger_id = ledger_id
        self._ensemble = ensemble
        self._is_covered = is_covered
        self._heard: set[int] = set()

    @property
    def suffice(self) -> bool:
        """Whether enough bookies have answered: at least one bookie of each possible ack quorum.

        Each acknowledged entry is then on at least one bookie that has answered.
        """
        return self._is_covered(self._heard)

    def heard(self, bookie_id: str, known: LastConfirmed) -> None:
        """Count the verified answer of a bookie.

        :param known: the LAC and the last entry in the answer.
        """
        self.known = self.known.merged(known)
        self._heard.add(self._ensemble.index(bookie_id))

    def failed(self, bookie_id: str, error: Exception) -> None:
        """Record that the request to ``bookie_id`` ended with an ``error``, which may be the answer "no such entry"."""
        if isinstance(error, NO_ENTRY):
            self.heard(bookie_id, LastConfirmed())
        else:
            self.errors[bookie_id] = error

    def failure(self) -> BookKeeperError:
        """Return the error to raise when too few bookies have answered; its text has the error of each bookie."""
        return ReadError(_told(self.errors, self._ledger_id))


def _told(errors: Mapping[str, Exception], ledger_id: int) -> str:
    told = "; ".join(with_bookie(error, bookie_id) for bookie_id, error in errors.items())
    return f"too few bookies know the last add of ledger {ledger_id}: {told}"


def lac_failure(errors: Mapping[str, Exception], ledger_id: int) -> Exception:
    """Return the error to raise when too few bookies have answered a question for the LAC of a ledger.

    :param errors: the error of each bookie that failed, by bookie id, in the order in which they failed.
    :param ledger_id: the ledger.
    :returns: ClientClosedError or UnauthorizedAccessError if one of ``errors`` is such an error.  Otherwise an error
        whose text has the error of each bookie: RequestTimeoutError if the last one is a time-out, else ReadError.
    """
    for error in errors.values():
        if isinstance(error, ClientClosedError | UnauthorizedAccessError):
            return error
    kind = RequestTimeoutError if errors and isinstance([*errors.values()][-1], RequestTimeoutError) else ReadError
    return kind(_told(errors, ledger_id))
