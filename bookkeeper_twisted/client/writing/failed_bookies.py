"""The record of the bookies that failed to store entries of one ledger: which to replace, and which cannot be replaced.
"""

from collections.abc import Collection, Iterable, Sequence

import attrs

from ...errors import AddEntryQuorumTimeoutError, NotEnoughBookiesError, UnexpectedConditionError, WriteError
from ...ledger.read_answers import with_bookie
from ...ledger.schedule import Schedule

RETRY_SECONDS = 0.5
"""Seconds between two attempts to send entries again to failed bookies that no other bookie can replace."""

SPARE_SECONDS = 10.0
"""Seconds for which a writer does not try again to replace a failed bookie, after it has found no substitute.

It does not try even if another bookie has been started meanwhile.
"""

_PLAIN = (AddEntryQuorumTimeoutError, NotEnoughBookiesError, UnexpectedConditionError, WriteError)
"""Classes of errors whose only field is their text."""


@attrs.frozen
class AddRules:
    """The rules of a writer for adds that fail or are slow.

    :ivar confirms: whether the last add confirmed advances when an entry completes.  It is False with deferred sync,
        because the entry may not be on disk yet.  It is also False in a recovery, which confirms its entries by closing
        the ledger.
    :ivar delay_change: whether a failed bookie stays in the ensemble as long as all entries can reach their ack quorums
        without it.
    :ivar quorum_timeout: seconds within which an entry must reach its ack quorum, None to wait for ever.
    :ivar patience: maximum number of seconds for which entries are sent again and again to failed bookies that no other
        bookie can replace.
    """

    confirms: bool = True
    delay_change: bool = False
    quorum_timeout: float | None = None
    patience: float = 0.0


class FailedBookies:
    """The failed bookies of one ledger; the writer makes this object at the first failure.

    :ivar late: bookies that failed only for entries that already had their ack quorum.  No append waits for their
        replacement, so they are replaced just before more entries are sent.
    :ivar useless: bookies that have failed since an entry completed last; they must not be chosen as substitutes.
    """

    __slots__ = ("late", "useless", "_failed", "_staying", "_errors", "_deadline")

    def __init__(self) -> None:
        self.late: dict[str, None] = {}
        self.useless: dict[str, None] = {}
        self._failed: dict[str, None] = {}
        # for each failed bookie without a substitute: the time until which it stays in the ensemble
        self._staying: dict[str, float] = {}
        self._errors: dict[str, Exception] = {}  # the first error of each bookie since it joined the ensemble
        self._deadline: float | None = None  # time after which no entry is sent again to failed bookies

    def note(self, bookie_id: str, error: Exception) -> bool:
        """Record the ``error`` of a bookie of the ensemble.

        :returns: whether it is the first error of this bookie.
        """
        return self._errors.setdefault(bookie_id, error) is error

    def add(self, failed: Iterable[str]) -> None:
        """Add ``failed`` bookies to those that the next ensemble change must try to replace."""
        self._failed.update(dict.fromkeys(failed))

    def take(self, ensemble: Sequence[str], tried: Collection[tuple[int, str]]) -> dict[int, str]:
        """Remove from this record the failed bookies that an ensemble change must try to replace, and return them.

        :param ensemble: the current ensemble; failed bookies that are not in it are removed, but not returned.
        :param tried: position in the ensemble and id of each bookie that this ensemble change has tried to replace
            before; these bookies are removed, but not returned.
        :returns: ids of failed bookies by position in the ensemble.
        """
        failed = {**self._failed, **self.late}
        self._failed, self.late = {}, {}
        found = {n: member for n, member in enumerate(ensemble) if member in failed and (n, member) not in tried}
        self.useless.update(dict.fromkeys(found.values()))
        return found

    @property
    def waiting(self) -> bool:
        """Whether there are failed bookies that an ensemble change has not tried to replace yet."""
        return bool(self._failed)

    def forget(self) -> None:
        """Forget all failures, because entries are sent to the failed bookies again."""
        self._failed, self.useless = {}, {}

    def stay(self, bookies: Iterable[str], now: float) -> None:
        """Record that no bookie could replace failed ``bookies``, so that these stay in the ensemble for some seconds.

        :param now: the present time, in seconds.
        """
        self._staying.update(dict.fromkeys(bookies, now + SPARE_SECONDS))

    def stays_until(self, bookie_id: str) -> float | None:
        """Return the time until which a failed ``bookie_id`` stays in the ensemble; None if it must be replaced."""
        return self._staying.get(bookie_id)

    def changed(self, ensemble: Collection[str]) -> None:
        """Forget the failures of bookies that are not in the new ``ensemble``."""
        self._errors = {bookie_id: error for bookie_id, error in self._errors.items() if bookie_id in ensemble}
        self._staying = {bookie_id: until for bookie_id, until in self._staying.items() if bookie_id in ensemble}

    def completed(self) -> None:
        """Record that an entry has completed: from now on, bookies that failed before may be chosen again."""
        self.useless, self._deadline = {}, None

    def pause(self, now: float, patience: float) -> float | None:
        """Return the seconds to wait before entries are sent again to failed bookies; None if the writer must give up.

        :param patience: the writer must give up this number of seconds after the first call.
        """
        if self._deadline is None:
            self._deadline = now + patience
        return min(RETRY_SECONDS, self._deadline - now) if now < self._deadline else None

    def explained(self, why: Exception, ensemble: Iterable[str], failed: Collection[str]) -> Exception:
        """Return an error like ``why`` with a message that also has the errors of ``failed`` bookies.

        The first of these errors is the cause of the returned error.

        :param why: returned itself if its class has fields, such as that of an error with which a bookie answered.
        :param ensemble: bookies that are not in it are left out.
        """
        if not isinstance(why, _PLAIN):
            return why
        failures = {name: self._errors[name] for name in ensemble if name in self._errors and name in failed}
        said = "".join(f"; {with_bookie(error, bookie_id)}" for bookie_id, error in failures.items())
        explained = type(why)(f"{why}{said}")
        explained.__cause__ = next(iter(failures.values()), why.__cause__)
        return explained


def missed_quorum(
    ledger_id: int, entry_id: int, ack_quorum: int, shortage: NotEnoughBookiesError | None
) -> NotEnoughBookiesError:
    """Make the error of an entry that cannot reach its ack quorum.

    :param shortage: the error that says why failed bookies were not replaced; None if all were replaced.
    """
    why = "" if shortage is None else f": {shortage}"
    missed = NotEnoughBookiesError(
        f"ledger {ledger_id} entry {entry_id} cannot reach its ack quorum of {ack_quorum} bookies{why}"
    )
    missed.__cause__ = None if shortage is None else shortage.__cause__
    return missed


def quorum_timed_out(
    ledger_id: int, entry_id: int, schedule: Schedule, ensemble: Sequence[str], seconds: float
) -> AddEntryQuorumTimeoutError:
    """Make the error of an entry that has not reached its ack quorum in time.

    :param seconds: the time limit.
    """
    asked = ", ".join(ensemble[position] for position in schedule.write_set(entry_id))
    return AddEntryQuorumTimeoutError(
        f"ledger {ledger_id} entry {entry_id} had no ack quorum of {schedule.ack_quorum} bookies in {seconds:g} s; "
        f"bookies asked: {asked}"
    )


def of_ledger(error: Exception, ledger_id: int) -> Exception:
    """Return an error like that of an ensemble change, with a text that names the ledger.

    :param error: returned itself if its class has fields, such as that of a ledger that is fenced.
    """
    if not isinstance(error, _PLAIN):
        return error
    named = type(error)(f"ledger {ledger_id}: {error}")
    named.__cause__ = error.__cause__
    return named
