"""Files for Docker: the image and the compose files."""

import importlib.util
import json
import re
import subprocess
from collections.abc import Mapping
from typing import Any

from twisted.trial.unittest import SkipTest, SynchronousTestCase

from bookkeeper_twisted.cli.options import AutorecoveryOptions, ConfigOptions, Options

from ..first_hour.image import instructions
from .chart import CHART, ROOT

CONTRIB = ROOT / "contrib"
FILES = ("single.yaml", "cluster.yaml")


def services(name: str) -> Mapping[str, Mapping[str, Any]]:
    """The services of a compose file.

    :raises SkipTest: nothing reads YAML.
    """
    if importlib.util.find_spec("yaml") is None:
        raise SkipTest("PyYAML is not installed (extra dev)")
    import yaml

    found: Mapping[str, Mapping[str, Any]] = yaml.safe_load((CONTRIB / "compose" / name).read_text())["services"]
    return found


class ImageTests(SynchronousTestCase):
    """``contrib/Dockerfile``; ``python -m tests.first_hour`` does what it says."""

    def setUp(self) -> None:
        self.found = list(instructions((CONTRIB / "Dockerfile").read_text()))

    def text(self, word: str) -> str:
        """What follows the only instruction of that name."""
        (found,) = [text for each, text in self.found if each == word]
        return found

    def test_minimal(self) -> None:
        """No layer has the source, what is installed is pinned, and the context has what the package is made of."""
        self.assertNotIn("COPY", [word for word, _ in self.found])
        self.assertIn("--constraint /src/constraints.txt", self.text("RUN"))
        ignored = (CONTRIB / "Dockerfile.dockerignore").read_text().split()
        self.assertEqual(ignored[0], "*")
        for name in ignored[1:-1]:
            self.assertTrue((ROOT / name.removeprefix("!")).exists(), name)

    def test_user(self) -> None:
        """It runs as a user with a number that is not root's, and is its own process 1."""
        self.assertGreater(int(self.text("USER")), 0)
        self.assertEqual(json.loads(self.text("ENTRYPOINT"))[:4], ["twistd", "-n", "--pidfile=", "bookie"])

    def test_health(self) -> None:
        """It is healthy when it is ready, and a long replay is no failure."""
        options, _, command = self.text("HEALTHCHECK").partition(" CMD ")
        self.assertEqual(json.loads(command), ["bookkeeper-twisted", "probe", "ready"])
        self.assertIn("--start-period=1h", options)


class ComposeTests(SynchronousTestCase):
    """``contrib/compose``."""

    def ours(self, name: str) -> Mapping[str, Mapping[str, Any]]:
        """The services that run our image."""
        return {key: each for key, each in services(name).items() if each["image"].startswith("bookkeeper-twisted:")}

    def test_known(self) -> None:
        """Docker takes them, where it is installed with Compose."""
        if subprocess.run(["docker", "compose", "version"], capture_output=True).returncode:
            raise SkipTest("Docker has no Compose here")
        for name in FILES:
            done = subprocess.run(["docker", "compose", "-f", str(CONTRIB / "compose" / name), "config", "--quiet"],
                                  capture_output=True, text=True)  # fmt: skip
            self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_image(self) -> None:
        """They run the version of the chart, and build it where it is missing."""
        version = re.search(r'(?m)^appVersion: "(.*)"$', (CHART / "Chart.yaml").read_text())
        assert version is not None
        for name in FILES:
            for each in self.ours(name).values():
                self.assertEqual(each["image"], f"bookkeeper-twisted:{version[1]}")
                context = (CONTRIB / "compose" / each["build"]["context"]).resolve()
                self.assertTrue((context / each["build"]["dockerfile"]).exists())

    def test_confined(self) -> None:
        """No service can write to its image or gain privileges, and none is root."""
        for name in FILES:
            for each in self.ours(name).values():
                self.assertEqual((each["read_only"], each["cap_drop"]), (True, ["ALL"]))
                self.assertEqual(each["security_opt"], ["no-new-privileges:true"])
                self.assertNotIn("user", each)  # that of the image, which is not root

    def test_bookies(self) -> None:
        """Each bookie keeps its identity and its data, and has the time for its last checkpoint."""
        names = []
        for name in FILES:
            for key, each in self.ours(name).items():
                if "volumes" in each:
                    names.append(key)
                    self.assertEqual(each["stop_grace_period"], "2m")
                    self.assertEqual(each["volumes"], [f"{key}:/var/lib/bookkeeper"])
                    found = each["environment"]
                    self.assertEqual((found["BK_bookieId"], found["BK_advertisedAddress"]), (key, key))
        self.assertEqual(names, ["bookie", "bookie-1", "bookie-2", "bookie-3"])

    def test_order(self) -> None:
        """Servers start behind the metadata of their cluster, which are made when ZooKeeper is there."""
        found = services("cluster.yaml")
        self.assertEqual(found["initialize"]["depends_on"], {"zookeeper": {"condition": "service_healthy"}})
        for key in ("bookie-1", "bookie-2", "bookie-3", "autorecovery"):
            self.assertEqual(
                found[key]["depends_on"], {"initialize": {"condition": "service_completed_successfully"}}
            )

    def test_settings(self) -> None:
        """The keys of servers are keys of ours with values of theirs."""
        for name in FILES:
            for key, each in self.ours(name).items():
                options: ConfigOptions = AutorecoveryOptions() if key == "autorecovery" else Options()
                options.environ = {**each["environment"], "BK_allowLoopback": "true"}
                options.parseOptions(["--metadataServiceUri=memory:"] if name == "single.yaml" else [])
                config = options.configs[0] if isinstance(options, Options) else None
                self.assertEqual(() if config is None else config.warnings, ())
