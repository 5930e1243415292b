"""The cluster of a captured tree, made again through a driver."""

from collections.abc import Callable
from typing import Any

from bookkeeper_twisted.codec.metadata_formats import decode_ledger_metadata, decode_service_info
from bookkeeper_twisted.metadata.zookeeper.interfaces import NewNode

from ...vectors.dumps import Dump


class VectorCluster:
    """Makes what a dump holds.

    :param admin: draws the instance id of the dump.
    :param by_hand: creates the node that begins long ids, behind three short ones, as in the capture.
    """

    def __init__(self, dump: Dump, admin: Any, driver: Any, by_hand: Callable[[NewNode], object]) -> None:
        self._dump = dump
        self._admin = admin
        self._driver = driver
        self._by_hand = by_hand

    async def make(self, formats: bool, n_drawn: int) -> None:
        """Makes the cluster, cookies, bookies and ledgers; both connections stay open.

        :param formats: whether it is made by formatting.
        :param n_drawn: how many ledgers have generated ids.
        """
        await self._admin.open()
        await (self._admin.format() if formats else self._admin.initialize())
        await self._driver.open()
        await self._make_bookies()
        for ledger_id in self._chosen(n_drawn):
            await self._create(ledger_id)
        for number in range(n_drawn):
            if number == 3:
                self._by_hand(NewNode(f"{self._dump.root}/idgen-long"))
            await self._create(await self._driver.ledgers.generate_id())

    def _chosen(self, n_drawn: int) -> list[int]:
        drawn = [0, 1, 2, 4294967297, 4294967298, 4294967299][:n_drawn]
        return [ledger_id for ledger_id in self._dump.ledgers if ledger_id not in drawn]

    async def _make_bookies(self) -> None:
        registration = self._driver.registration
        for bookie_id, cookie in self._dump.below("cookies").items():
            await registration.write_cookie(bookie_id, cookie, None)
        for bookie_id, info in self._dump.below("available").items():
            await registration.register_bookie(bookie_id, False, decode_service_info(info, bookie_id))

    async def _create(self, ledger_id: int) -> None:
        """Creates a ledger, and writes it as often as the original was."""
        path = self._dump.ledgers[ledger_id]
        node = next(node for node in self._dump.nodes if node.path == path)
        metadata = decode_ledger_metadata(node.data)
        await self._driver.ledgers.create(ledger_id, metadata)
        for version in range(node.version):
            await self._driver.ledgers.write(ledger_id, metadata, version)
