"""Autorecovery in a run: two processes, each with an auditor and a worker; and what has to be whole at the end."""

from twisted.python.failure import Failure

from bookkeeper_twisted.codec.metadata_formats import decode_check_time
from bookkeeper_twisted.config.autorecovery import AutorecoveryConfig
from bookkeeper_twisted.errors import BookKeeperError
from bookkeeper_twisted.model import AuditorCheck

from .cluster import Cluster
from .world import ClientNode


class RepairProcess:
    """One process of autorecovery; each start is another node."""

    def __init__(self, cluster: Cluster, number: int, config: AutorecoveryConfig) -> None:
        self._cluster = cluster
        self._number = number
        self._config = config
        self._node: ClientNode | None = None

    def start(self) -> None:
        """Starts it, unless it runs."""
        if self._node is None or not self._node.life.alive:
            node = self._node = self._cluster.new_client("x", self._cluster.config(self._number), self._config)
            node.spawn(self._run(node)).addErrback(self._broken, node)

    async def _run(self, node: ClientNode) -> None:
        try:
            await node.start()
        except BookKeeperError:
            await node.sleep(1)
            node.kill()
            self.start()

    def _broken(self, failure: Failure, node: ClientNode) -> None:
        self._cluster.checker.fail("crash", f"{node.name} ended: {failure.getTraceback()}")

    def kill(self) -> None:
        """Ends it at once."""
        if self._node is not None:
            self._node.kill()

    def expire(self) -> None:
        """The metadata store ends its session."""
        if self._node is not None:
            self._node.expire()


class RepairEnd:
    """Waits until autorecovery has nothing left to do.

    Every ledger is closed by then.  After that all ledgers are checked once more, from beginning to end, and neither a
    mark nor a lock is left.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._store = cluster.world.metadata.store
        self._checks_left = 2  # the first one may have begun before
        self._last_check = self._check_time()

    def reached(self) -> bool:
        """Whether that is so; to be asked again and again."""
        time = self._check_time()
        if time != self._last_check:
            self._last_check = time
            self._checks_left -= 1
        return self._checks_left <= 0 and not self._store.marks and not self._store.locks

    def _check_time(self) -> int | None:
        stored = self._store.settings.get(AuditorCheck.ALL_LEDGERS.value)
        return None if stored is None else decode_check_time(AuditorCheck.ALL_LEDGERS, stored.value)

    def what_is_left(self) -> str:
        """What it waits for."""
        marks, locks = sorted(self._store.marks), sorted(self._store.locks)
        return f"{self._checks_left} checks to go, marked: {marks}, locked: {locks}"
