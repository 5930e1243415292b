"""The election of the auditor and the settings of auditors, in the same nodes as those of Apache BookKeeper or Pulsar.

::

    underreplication/auditorelection                 the last winner
    underreplication/auditorelection/V_0000000007    a vote, ephemeral
    underreplication/leader                          the auditor under Pulsar's metadata driver, ephemeral
    underreplication/lostBookieRecoveryDelay         seconds, in decimal
    underreplication/checkallledgersctime            when a check last ended; likewise placementpolicycheckctime
                                                     and replicascheckctime
"""

from collections.abc import Callable

from zope.interface import implementer

from ...codec.metadata_formats import (
    decode_check_time,
    decode_leader,
    decode_recovery_delay,
    decode_vote,
    encode_check_time,
    encode_recovery_delay,
)
from ...errors import CodecError, MetadataError, MetadataSerializationError
from ...model import AuditorCheck, check_bookie_id
from ..interfaces import IAuditing
from .cluster import UNDERREPLICATION
from .election.candidacy import Candidacy
from .election.leader_node import LeaderCandidacy
from .election.votes import VoteCandidacy, lowest_first
from .interfaces import NewNode, NodeExistsError, NodeMissingError
from .watches.node_watch import NodeWatches
from .znodes import ANY, Znodes

ELECTION, LEADER, DELAY = "auditorelection", "leader", "lostBookieRecoveryDelay"


@implementer(IAuditing)
class ZooKeeperAuditing:
    """The election of the auditor, the recovery delay of lost bookies, and the times of checks, on ZooKeeper.

    :param of_pulsar: True for the election of Pulsar's metadata driver, False for the election of Apache's driver.
    """

    def __init__(self, znodes: Znodes, of_pulsar: bool = False) -> None:
        self._znodes = znodes
        self._of_pulsar = of_pulsar
        self._nodes = NodeWatches(znodes)
        self._candidacy: Candidacy | None = None
        znodes.session.on_expiry(self._expired)

    def stop(self) -> None:
        """End all watches, and stop this driver's candidate; if it is the auditor, call its listener with False."""
        self._nodes.stop()
        candidacy, self._candidacy = self._candidacy, None
        if candidacy is not None:
            candidacy.lose()
            candidacy.stop()

    def _expired(self) -> None:
        if self._candidacy is not None:
            self._candidacy.lose()

    # -- the election --

    def stand(self, candidate: str, listener: Callable[[bool], None]) -> None:
        check_bookie_id(candidate)
        self._znodes.session.check_open()
        if self._candidacy is not None:
            raise MetadataError(f"{self._znodes.session.uri}: {self._candidacy.name} stands already")
        votes, leader = self._path(ELECTION), self._path(LEADER)
        if self._of_pulsar:
            self._candidacy = LeaderCandidacy(self._znodes, leader, votes, candidate, listener)
        else:
            self._candidacy = VoteCandidacy(self._znodes, votes, leader, candidate, listener)
        self._candidacy.start()

    async def withdraw(self) -> None:
        candidacy, self._candidacy = self._candidacy, None
        if candidacy is not None:
            candidacy.stop()
            await candidacy.remove()

    async def auditor(self) -> str | None:
        data = await self._fresh(LEADER)
        try:
            return await self._lowest_voter() if data is None else decode_leader(data)
        except CodecError as error:
            raise MetadataSerializationError(f"{self._path(LEADER)}: {error}") from error

    async def _lowest_voter(self) -> str | None:
        path = self._path(ELECTION)
        try:
            for name in lowest_first(await self._znodes.fresh_children(path)):
                try:
                    data, _ = await self._znodes.get(f"{path}/{name}")
                    return decode_vote(data)
                except NodeMissingError:
                    pass  # after the votes were listed, the candidate withdrew its vote
                except CodecError as error:
                    raise MetadataSerializationError(f"{path}/{name}: {error}") from error
        except NodeMissingError:
            pass  # the parent node of the votes does not exist before the first candidate for auditor votes
        return None

    # -- the delay --

    async def lost_bookie_delay(self) -> int | None:
        return self._delay_in(await self._fresh(DELAY))

    async def set_lost_bookie_delay(self, seconds: int) -> None:
        await self._store(NewNode(self._path(DELAY), encode_recovery_delay(seconds), open=True))

    def watch_lost_bookie_delay(self, listener: Callable[[int | None], None]) -> Callable[[], None]:
        return self._nodes.watch(self._path(DELAY), self._delay_in, listener)

    def _delay_in(self, data: bytes | None) -> int | None:
        try:
            return None if data is None else decode_recovery_delay(data)
        except CodecError as error:
            raise MetadataSerializationError(f"{self._path(DELAY)}: {error}") from error

    # -- times of checks --

    async def check_time(self, check: AuditorCheck) -> int | None:
        data = await self._fresh(check.value)
        try:
            return None if data is None else decode_check_time(check, data)
        except CodecError as error:
            raise MetadataSerializationError(f"{self._path(check.value)}: {error}") from error

    async def set_check_time(self, check: AuditorCheck, ms: int | None) -> None:
        path = self._path(check.value)
        if ms is not None:
            await self._store(NewNode(path, encode_check_time(check, ms)))
            return
        try:
            await self._znodes.delete(path)
        except NodeMissingError:
            pass

    # -- nodes --

    async def _fresh(self, name: str) -> bytes | None:
        path = self._path(name)
        try:
            await self._znodes.sync(path)
            return (await self._znodes.get(path))[0]
        except NodeMissingError:
            return None

    async def _store(self, node: NewNode) -> None:
        """Create a node, or replace its data whatever its version is; if a reply is lost, write again."""
        while True:
            try:
                await self._znodes.set(node.path, node.data, ANY)
                return
            except NodeMissingError:
                pass
            try:
                await self._znodes.create_below(node, lambda data, stat: data == node.data)
                return
            except NodeExistsError:
                pass  # another client created the node first: try to set its data again

    def _path(self, name: str) -> str:
        return self._znodes.path(UNDERREPLICATION, name)
