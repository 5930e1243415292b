"""A process with an auditor and a replication worker in it, which can be killed."""

from bookkeeper_twisted.autorecovery.service import AutoRecovery, Identity
from bookkeeper_twisted.client import BookKeeper
from bookkeeper_twisted.config.autorecovery import AutorecoveryConfig
from bookkeeper_twisted.config.client import ClientConfig

from .client_node import ClientNode, Connect
from .world import World


class AutorecoveryNode(ClientNode):
    """The real autorecovery over the real client.

    :ivar autorecovery: once :meth:`start` has ended.
    """

    autorecovery: AutoRecovery | None = None

    def __init__(
        self, world: World, name: str, config: ClientConfig, connect: Connect, settings: AutorecoveryConfig
    ) -> None:
        super().__init__(world, name, config, connect)
        self._settings = settings

    async def start(self) -> BookKeeper:
        """Connects, stands for the office of the auditor, and begins to repair."""
        client = await super().start()
        identity = Identity(f"{self.name}:3181", self.name)
        self.autorecovery = AutoRecovery(self.clock, client, self._settings, identity, self._now_ms)
        self.autorecovery.start()
        return client

    def _now_ms(self) -> int:
        return int(self.clock.seconds() * 1000)
