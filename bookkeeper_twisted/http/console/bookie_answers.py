"""Asks the bookies of the cluster for their disk space, and tells which of them do not answer."""

from collections.abc import Collection, Mapping

import attrs
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater

from ...client.admin import BookKeeperAdmin, DiskSpace
from ...errors import BookieHandleNotAvailableError, RequestTimeoutError
from ...shared_result import SharedResult

PATIENCE = 2.0
"""Seconds within which a bookie has to answer the console; after that, it is shown without its answer."""

AGAIN = 4.0
"""Minimum seconds between two questions to the same bookie."""

KNOWN_SECONDS = 15.0
"""Seconds since the newest questions within which answers count; older ones are forgotten, and all bookies asked anew.
"""

MOST_AT_ONCE = 200
"""Maximum number of bookies that are asked again in one sample of the cluster; new bookies are always asked."""


@attrs.frozen
class ClusterBookie:
    """A bookie in the list of bookies that the console shows.

    :ivar state: ``writable``, ``read-only`` or ``unavailable``.
    :ivar since: when this process first saw the bookie in this state, in seconds since the epoch; None if the state has
        not changed while this process listed the bookies, as it does while somebody looks at the console.
    :ivar rack: rack of the bookie; empty if this process does not know the rack.
    :ivar url: URL of the bookie's HTTP server; empty if the bookie has registered none.
    :ivar total, free: size and free space of its ledger disks in bytes; None if it does not answer, or is not writable.
    :ivar why: why a registered bookie counts as one that does not answer this process; empty if it answers.
    :ivar silent_since: when this process first asked it in vain, in seconds since the epoch; None if it answers.
    """

    id: str
    state: str
    since: float | None
    rack: str
    url: str
    total: int | None
    free: int | None
    why: str = ""
    silent_since: float | None = None

    @property
    def row(self) -> Mapping[str, object]:
        """The bookie as a JSON object."""
        return {
            "id": self.id, "state": self.state, "since": self.since, "rack": self.rack, "url": self.url,
            "total": self.total, "free": self.free, "why": self.why, "silentSince": self.silent_since,
        }  # fmt: skip


@attrs.define(eq=False)
class BookieAnswer:
    """The newest answer of a bookie to the console, and since when it does not answer.

    :ivar asked: time of the newest question, in seconds since the epoch.
    :ivar question: fires when the newest question was answered, or has failed; None if it was, or has.
    :ivar unanswered_since: time of the first question after the last answer; None if the newest question was answered.
    :ivar why: why the bookie counts as one that does not answer; empty if it does not count as such.
    :ivar space: its disk space; None if the bookie does not answer, or has answered with an error.
    """

    asked: float
    question: SharedResult[None] | None = None
    unanswered_since: float | None = None
    why: str = ""
    space: DiskSpace | None = None


class BookieAnswers:
    """The newest answers of bookies.

    A bookie that does not answer holds up a sample only once: it is asked again, but later samples do not wait for it.

    :param clock: the reactor.
    """

    def __init__(self, clock: IReactorTime) -> None:
        self._clock = clock
        self._answers: dict[str, BookieAnswer] = {}
        self._asked = clock.seconds()

    def of(self, bookie_id: str) -> BookieAnswer | None:
        """Return what a bookie has answered; None if it was not asked.

        :param bookie_id: id of the bookie.
        """
        return self._answers.get(bookie_id)

    async def ask(self, admin: BookKeeperAdmin, bookie_ids: Collection[str]) -> None:
        """Ask bookies at the same time, and wait for their answers, for :data:`PATIENCE` seconds at most.

        :param admin: the client of the cluster.
        :param bookie_ids: ids of all registered bookies; of other bookies, the answers are forgotten.
        """
        now = self._clock.seconds()
        if now - self._asked > KNOWN_SECONDS:
            self._answers.clear()
        self._asked = now
        for gone in self._answers.keys() - set(bookie_ids):
            del self._answers[gone]
        for bookie_id in self._due(bookie_ids, now):
            self._begin(admin, bookie_id, now)
        await self._wait()

    async def silent(self, admin: BookKeeperAdmin, bookie_ids: Collection[str]) -> frozenset[str]:
        """Return those of some bookies that do not answer, as they were last asked; ask all if that was long ago.

        A bookie that was not asked, as only some of very many are, counts as one that answers.

        :param admin: the client of the cluster.
        :param bookie_ids: ids of all registered bookies.
        """
        if not self._answers or self._clock.seconds() - self._asked > KNOWN_SECONDS:
            await self.ask(admin, bookie_ids)
        else:
            await self._wait()
        return frozenset([each for each in bookie_ids if each in self._answers and self._answers[each].why])

    async def _wait(self) -> None:
        """Wait for the answers of bookies that have been asked and do not count as silent yet."""
        waiting = [(each, each.question) for each in self._answers.values() if each.question and not each.why]
        for each, question in waiting:
            left = each.asked + PATIENCE - self._clock.seconds()
            await question.wait().addTimeout(max(left, 0), self._clock, lambda *_: None)
        # If this process was held up for seconds, answers may have come that it has not read yet: read them first.
        await deferLater(self._clock, 0)
        for each, question in waiting:
            if each.question is question:
                each.why = f"no answer within {PATIENCE:g} s"

    def _due(self, bookie_ids: Collection[str], now: float) -> list[str]:
        """Return the bookies to ask now: those never asked, and of the others those that were asked the longest ago."""
        new = [bookie_id for bookie_id in bookie_ids if bookie_id not in self._answers]
        asked = sorted((each.asked, bookie_id) for bookie_id, each in self._answers.items() if each.question is None)
        again = [bookie_id for at, bookie_id in asked[:MOST_AT_ONCE] if now - at >= AGAIN]
        return new + again

    def _begin(self, admin: BookKeeperAdmin, bookie_id: str, now: float) -> None:
        each = self._answers.setdefault(bookie_id, BookieAnswer(now))
        each.asked, each.question = now, SharedResult()
        if each.unanswered_since is None:
            each.unanswered_since = now
        each.question.run(self._listen(admin, bookie_id, each))

    async def _listen(self, admin: BookKeeperAdmin, bookie_id: str, each: BookieAnswer) -> None:
        answer = await admin.disk_space_of(bookie_id)
        each.question = None
        each.space = answer if isinstance(answer, DiskSpace) else None
        if isinstance(answer, RequestTimeoutError):
            each.why = each.why or str(answer)
        elif isinstance(answer, BookieHandleNotAvailableError):
            each.why = str(answer)
        else:
            each.why, each.unanswered_since = "", None
