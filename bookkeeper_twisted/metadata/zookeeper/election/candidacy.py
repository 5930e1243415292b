"""The base class of candidates for auditor, in Apache's election and in Pulsar's election.

Apache's metadata driver and Pulsar's driver use different nodes for the election, and one cluster may use both drivers.
To prevent two auditors, a candidate in one election does not become auditor while the other election has a candidate.
"""

from collections.abc import Callable

from twisted.logger import Logger

from ..interfaces import NodeMissingError, NotConnectedError, Watch
from ..watches.watch_loop import WatchLoop
from ..znodes import Znodes


class Candidacy:
    """The candidacy of one process for auditor.

    :ivar name: name of the candidate.
    :param path: path of the node of the election in which this candidate takes part.
    :param other: path of the node of the other election (Pulsar's for a candidate in BookKeeper's, and vice versa).  A
        candidate there keeps this candidate from becoming auditor, so that the cluster has only one.
    :param listener: called with True when the candidate becomes the auditor, with False when it is no longer the
        auditor.
    """

    _log = Logger()

    def __init__(
        self, znodes: Znodes, path: str, other: str, name: str, listener: Callable[[bool], None]
    ) -> None:  # fmt: skip
        self.name = name
        self._znodes = znodes
        self._path = path
        self._other = other
        self._listener = listener
        self._in_office = False
        self._stopped = False
        self._waits = False
        self._loop = WatchLoop(znodes.session, "the election of the auditor", self._look)

    def start(self) -> None:
        """Take part in the election, and watch its nodes, until :meth:`stop`."""
        self._loop.start()

    def stop(self) -> None:
        """Stop watching the election, without removing the nodes of this candidate from ZooKeeper."""
        self._stopped = True
        self._in_office = False
        self._loop.stop()

    def lose(self) -> None:
        """Call the listener with False if this candidate is the auditor."""
        self._is_elected(False)

    async def remove(self) -> None:
        """Remove the nodes of this session from the election."""
        raise NotImplementedError

    async def _stand(self, watch: Watch) -> None:
        """Take part in the election: set ``watch`` on the nodes of the election, and call :meth:`_is_elected`."""
        raise NotImplementedError

    async def _look(self, watch: Watch) -> bool:
        try:
            await self._stand(watch)
        except NotConnectedError:
            self.lose()
            raise
        return not self._stopped

    def _owns(self, owner: int) -> bool:
        return owner == self._znodes.session.zookeeper.session_id

    async def _delete(self, path: str) -> None:
        try:
            await self._znodes.delete(path)
        except NodeMissingError:
            pass

    def _is_elected(self, elected: bool) -> None:
        if self._stopped or elected is self._in_office:
            return
        self._in_office = elected
        try:
            self._listener(elected)
        except Exception:
            self._log.failure("a listener for the auditor's office failed")

    def _waits_for_other(self, waits: bool) -> None:
        """Record whether a candidate in the other election keeps this one from becoming auditor.

        When ``waits`` changes to True, log a warning.
        """
        if waits and not self._waits:
            self._log.warn(
                "{name} leaves the auditor's office to a candidate at {other}: this process stands at {path}. Give all "
                "bookies and autorecoveries of the cluster the same form of metadataServiceUri, zk: or metadata-store:",
                name=self.name, other=self._other, path=self._path,
            )  # fmt: skip
        self._waits = waits
