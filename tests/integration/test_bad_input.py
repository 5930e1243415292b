"""Wrong input on a live bookie: an error code or a closed connection, and no other is harmed (safety, "Wire")."""

import signal
from pathlib import Path
from typing import cast

from twisted.internet import reactor
from twisted.trial.unittest import TestCase

from bookkeeper_twisted.codec.runs import ReadReply
from bookkeeper_twisted.codec.v2 import requests_out as v2_requests_out
from bookkeeper_twisted.codec.v3 import requests_out as v3_requests_out
from bookkeeper_twisted.errors import Status
from examples.bookie_process import BookieProcess

from .bad_input import CLOSED, REFUSED_LEDGER, SILENCE, Row, rows
from .peer import Bystander, Peer

_OPTIONS = ("--bookieId=b", "--advertisedAddress=127.0.0.1", "--allowLoopback=true", "--bookiePort=0")


class BadInputTests(TestCase):
    """Every row on a connection of its own, to one bookie process."""

    timeout = 60

    def setUp(self) -> None:
        self.data = str(Path(self.mktemp()).absolute())

    async def serve(self) -> BookieProcess:
        process = BookieProcess.start(reactor, self.data, *_OPTIONS)
        self.addCleanup(process.end)
        return await process.serving

    async def test_rows(self) -> None:
        """Each row has its outcome, a second connection is served, and the store is whole after a kill (S5)."""
        process = await self.serve()
        bystander = Bystander(await Peer.connect(reactor, process.port))
        await bystander.is_served()
        for row in rows():
            await self._check(process.port, row)
            await bystander.is_served()
        await bystander.peer.leave()
        self.assertEqual(await process.end(signal.SIGKILL), -signal.SIGKILL, "the bookie had ended by itself")
        process = await self.serve()
        bystander.peer = await Peer.connect(reactor, process.port)
        await bystander.finds(0, bystander.acked)
        self.assertIs(
            await self._ask(bystander.peer, v2_requests_out.encode_reads(REFUSED_LEDGER, [0])), Status.ENOLEDGER
        )
        await bystander.peer.leave()
        self.assertEqual(await process.end(signal.SIGTERM), 0)

    async def _check(self, port: int, row: Row) -> None:
        peer = await Peer.connect(reactor, port, row.wire)
        self.addCleanup(peer.leave)
        await self._check_outcome(peer, row)
        await peer.leave()

    async def _check_outcome(self, peer: Peer, row: Row) -> None:
        read = (
            v2_requests_out.encode_reads(Bystander.LEDGER, [0])
            if row.wire == 2
            else v3_requests_out.encode_reads(Bystander.LEDGER, [0])
        )
        if row.outcome == CLOSED:
            # a connection that is not closed answers the reads behind the row; one answer may be to the row itself
            peer.send(row.data + 2 * read)
            self.assertLess(len(await peer.take(2)), 2, f"{row.name}: not closed")
            return
        if row.outcome == SILENCE:
            peer.send(row.data)
        else:
            self.assertIs(await self._ask(peer, row.data), row.outcome, row.name)
        self.assertIs(await self._ask(peer, read), Status.EOK, f"{row.name}: the connection does not go on")

    async def _ask(self, peer: Peer, data: bytes) -> Status | None:
        """The status of the one reply, None if the connection is closed instead."""
        peer.send(data)
        replies = await peer.take(1)
        return cast(ReadReply, replies[0]).status if replies else None
