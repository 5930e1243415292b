"""S1 on real processes: a bookie is asked to stop under load, and loses nothing that it acknowledged until its end."""

import signal
from pathlib import Path
from typing import cast

from twisted.internet import reactor
from twisted.internet.defer import Deferred, DeferredList
from twisted.internet.error import ConnectError
from twisted.trial.unittest import TestCase

from bookkeeper_twisted.codec.runs import AddReplies, ReadReply
from bookkeeper_twisted.codec.v2 import requests_out
from bookkeeper_twisted.errors import Status
from examples.bookie_process import BookieProcess

from ..bookie.rig import KEY, run
from .peer import Peer

LIVES = 3
WRITERS = 8
ENTRIES = 50
_OPTIONS = ("--bookiePort=0", "--bookieId=b", "--advertisedAddress=127.0.0.1", "--allowLoopback=true")


class _Writer:
    """Adds one entry after the other, and connects again whenever a connection ends, until nobody listens.

    :ivar acked: entries that were acknowledged.
    """

    def __init__(self, ledger_id: int, port: int) -> None:
        self.acked = 0
        self.enough: Deferred[None] = Deferred()
        self._ledger_id = ledger_id
        self._port = port

    async def write(self) -> None:
        """Write until the bookie is gone."""
        while True:
            try:
                peer = await Peer.connect(reactor, self._port)
            except ConnectError:
                return
            while await self._add(peer):
                pass
            await peer.leave()

    async def _add(self, peer: Peer) -> bool:
        peer.send(requests_out.encode_adds(KEY, run(self._ledger_id, self.acked)))
        replies = cast(list[AddReplies], await peer.take(1))
        if not replies or replies[0].status is not Status.EOK:
            return False
        self.acked += 1
        if self.acked == ENTRIES:
            self.enough.callback(None)
        return True


class SigtermTests(TestCase):
    """First lives of bookies, whose port is bound before anything else, and second ones."""

    timeout = 120

    async def _serve(self, data: str) -> BookieProcess:
        process = BookieProcess.start(reactor, data, *_OPTIONS)
        self.addCleanup(process.end)
        return await process.serving

    async def _check(self, port: int, writers: dict[int, _Writer]) -> None:
        peer = await Peer.connect(reactor, port)
        for ledger_id, writer in writers.items():
            peer.send(requests_out.encode_reads(ledger_id, range(writer.acked)))
            replies = cast(list[ReadReply], await peer.take(writer.acked))
            lost = [number for number, reply in enumerate(replies) if reply.status is not Status.EOK]
            self.assertEqual((lost, len(replies)), ([], writer.acked), f"ledger {ledger_id}")
        await peer.leave()

    async def test_nothing_acknowledged_is_lost(self) -> None:
        """Writers that come back during the stop get no acknowledgement that does not hold, and the status is 0."""
        for _ in range(LIVES):
            data = str(Path(self.mktemp()).absolute())
            known: dict[int, _Writer] = {}
            for life in range(2):
                process = await self._serve(data)
                await self._check(process.port, known)
                writers = {
                    number: _Writer(number, process.port) for number in range(life * WRITERS, (life + 1) * WRITERS)
                }
                writing = [Deferred.fromCoroutine(writer.write()) for writer in writers.values()]
                await DeferredList([writer.enough for writer in writers.values()], fireOnOneErrback=True)
                self.assertEqual(await process.end(signal.SIGTERM), 0, process.output.decode())
                await DeferredList(writing, fireOnOneErrback=True)
                known |= writers
            process = await self._serve(data)
            await self._check(process.port, known)
            self.assertEqual(await process.end(signal.SIGTERM), 0)
