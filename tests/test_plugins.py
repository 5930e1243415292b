"""What Twisted imports of ours when it reads its list of plugins, as every ``twist``, ``twistd`` and ``trial`` does."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from twisted.trial.unittest import SynchronousTestCase

from .architecture import LAYER_0

FILES = Path(__file__).parents[1] / "twisted" / "plugins"

_OURS = re.compile(r"bookkeeper_twisted(\.|$)")
_LOOK = """
import json, sys

sys.path.insert(0, ".")
import dropins
from twisted.application.service import IServiceMaker
from twisted.plugin import getCache, getPlugins

files = [dropin.moduleName for dropin in getCache(dropins).values()]
services = [maker.tapname for maker in getPlugins(IServiceMaker, dropins)]
print(json.dumps([files, services, list(sys.modules)]))
"""

# The rooms with the interfaces that our plugins provide, and the modules that these need.
INTERFACES = {
    "authentication.plugins", "authorization.interfaces", "authorization.plugins", "bookie.lifecycle.storages",
    "codec.messages", "codec.operations", "codec.runs", "codec.wire_protocol",
    "ledger.placement", "metadata.interfaces", "placement.interfaces", "protocol.authentication",
    "security.files", "security.ledger_keys", "security.principals",
}  # fmt: skip
ROOTS = {
    "", "authentication", "authorization", "bookie", "bookie.lifecycle", "cli", "codec", "ledger", "metadata",
    "placement", "protocol", "security",
}  # fmt: skip
# The services are plugins of Twisted's own interface, so that their file is read for any list of services.
SERVICES = {"_public", "cli.ending"}
# Of what the plugins are made: the wire protocols are functions of the codec, the policies read the configuration.
PROVIDERS = {
    "metadata.factories", "metadata.zookeeper", "metadata.zookeeper.factory", "placement.factories",
    "placement.rack_aware", "placement.racks", "placement.random_placement", "placement.stored_racks",
    "protocol.wire_protocols",
}  # fmt: skip
HEAVY = {"google", "gssapi", "hypothesis", "kazoo", "prometheus_client", "pyarrow", "pyspark", "rocksdict", "sqlite3"}


class _Look(NamedTuple):
    files: list[str]
    services: list[str]
    modules: list[str]

    def ours(self) -> set[str]:
        """Modules of the package, but for the ground floor."""
        found = {_OURS.sub("", name) for name in self.modules if _OURS.match(name)}
        return {name for name in found if name.partition(".")[0] not in LAYER_0}


class PluginListTests(SynchronousTestCase):
    """The files of our plugins in a package of their own, looked at by fresh processes."""

    def setUp(self) -> None:
        """Nothing is listed yet."""
        self.directory = Path(self.mktemp())
        package = self.directory / "dropins"
        package.mkdir(parents=True)
        (package / "__init__.py").touch()
        for path in FILES.glob("*.py"):
            shutil.copy(path, package)

    def _look(self) -> _Look:
        command = [sys.executable, "-c", _LOOK]
        done = subprocess.run(command, cwd=self.directory, capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        look = _Look(*json.loads(done.stdout))
        self.assertEqual(len(look.files), len(list(FILES.glob("*.py"))))
        self.assertEqual(look.services, ["bookie", "autorecovery"])
        return look

    def test_making(self) -> None:
        """A list is made: the plugins are imported, none of what they make."""
        look = self._look()
        rest = look.ours() - INTERFACES - ROOTS - SERVICES - PROVIDERS
        self.assertEqual({name.partition(".")[0] for name in rest}, {"codec"})
        self.assertEqual(HEAVY & set(look.modules), {"google"})  # the codec's, for V3

    def test_reading(self) -> None:
        """A list that is there is read: the interfaces are imported, and nothing that provides them."""
        self._look()
        look = self._look()
        self.assertIn("placement.interfaces", look.ours())
        self.assertEqual(look.ours() - INTERFACES - ROOTS - SERVICES, set())
        self.assertEqual(HEAVY & set(look.modules), set())
