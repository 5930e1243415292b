"""The racks of bookies, written by the init container of the chart."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from kazoo.client import KazooClient
from twisted.trial.unittest import TestCase

from benchmarks.shared.zookeeper import shared_zookeeper
from bookkeeper_twisted.codec.metadata_formats import decode_racks

from ..deployment.chart import ROOT, pod_of, the


class RackTests(TestCase):
    """A real ZooKeeper."""

    timeout = 120

    def setUp(self) -> None:
        server = shared_zookeeper()
        self.root = server.new_root()
        self.uri = server.uri(f"{self.root}/ledgers")
        self.client = KazooClient(server.hosts)
        self.client.start()
        self.addCleanup(self.client.close)
        self.addCleanup(self.client.stop)

    def write(self, name: str, rack: str) -> "subprocess.CompletedProcess[str]":
        """Run the container in a pod with that name and label."""
        (container,) = pod_of(the("StatefulSet"))["initContainers"]
        program, *options = container["command"]
        self.assertEqual(program, "python")
        environ = {
            **os.environ, "PYTHONPATH": str(ROOT), "POD_NAME": name, "RACK": rack, "LABEL": "zone",
            "BK_metadataServiceUri": self.uri,
        }  # fmt: skip
        command = [sys.executable, *options, *container["args"]]
        return subprocess.run(command, env=environ, capture_output=True, text=True)

    def racks(self) -> dict[str, str]:
        """The racks that clients find."""
        return decode_racks(self.client.get(f"{self.root}/bookies")[0])

    def test_written(self) -> None:
        """Bookies that start together do not lose each other's racks; a later start may change one, in its group."""
        with ThreadPoolExecutor(2) as pool:
            done = list(pool.map(self.write, ("bk-0", "bk-1"), ("zone-a", "/zone-b")))
        self.assertEqual([each.returncode for each in done], [0, 0], done)
        self.assertEqual(done[0].stdout, "bookie bk-0 is in rack /zone-a\n")
        self.assertEqual(self.racks(), {"bk-0": "/zone-a", "bk-1": "/zone-b"})
        self.client.set(f"{self.root}/bookies", b'{"west": {"bk-0": {"rack": "/old", "hostname": "h"}}}')
        self.assertEqual(self.write("bk-0", "zone-c").returncode, 0)
        data, _ = self.client.get(f"{self.root}/bookies")
        self.assertIn(b'"west": {"bk-0": {"rack": "/zone-c", "hostname": "h"}}', data)

    def test_without_label(self) -> None:
        """A pod without the label does not start, and says why."""
        done = self.write("bk-0", "")
        self.assertEqual(
            (done.returncode, done.stderr), (1, "pod bk-0 has no label zone: its bookie would be in no rack\n")
        )
