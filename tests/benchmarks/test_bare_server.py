"""The server of bare calls."""

import sys
from pathlib import Path

import attrs
from twisted.trial.unittest import SynchronousTestCase

from benchmarks.shared.loads import Generator, measure
from benchmarks.shared.processes import free_port, launch
from benchmarks.shared.workloads import Workload

_ADDS = Workload("", "add", 1024, 40, 0, 500)


class BareServerTests(SynchronousTestCase):
    """What the generators send is answered as a bookie answers it."""

    def test_adds_and_reads(self) -> None:
        """What was added, by many at once or one by one, can be read again and again; nothing else can."""
        folder, port = Path(self.mktemp()).absolute(), free_port()
        folder.mkdir()
        command = [sys.executable, "-m", "benchmarks.compare.bare_server", str(port), str(folder)]
        server = launch("bare", command, folder, port, lambda: True)
        self.addCleanup(server.stop)
        for ledger_id, in_flight in ((7, _ADDS.inflight), (8, 1)):
            adds = attrs.evolve(_ADDS, inflight=in_flight)
            measure(Generator().add(adds, [server], 2, range(ledger_id, ledger_id + 1)), [server])
            reads = attrs.evolve(adds, kind="read", count=3 * _ADDS.count)
            measure(Generator().read(reads, server, 2, ledger_id, _ADDS.count), [server])
        reads = attrs.evolve(_ADDS, kind="read", inflight=1)
        self.assertRaises(RuntimeError, measure, Generator().read(reads, server, 2, 9, _ADDS.count), [server])
