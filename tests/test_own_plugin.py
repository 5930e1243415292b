"""The example of an authentication plugin of one's own, found by its name and on real sockets."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from twisted.internet import reactor
from twisted.trial.unittest import SynchronousTestCase, TestCase

import twisted.plugins
from bookkeeper_twisted.client import BookKeeper
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.errors import BookKeeperError, ConfigError, UnauthorizedAccessError
from bookkeeper_twisted.protocol.authentication import Peer
from bookkeeper_twisted.testing.contracts import authentication_contract
from examples.bookie_process import ROOT, BookieProcess
from examples.own_plugin.shared_secret import SharedSecretBookie, SharedSecretClient, SharedSecretPlugin, read_secrets

_PEER = Peer("p")
_OPTIONS = ("--allowLoopback=true", "--bookiePort=0", "--bookieAuthProviderFactoryClass=shared-secret")


class OwnPluginTests(authentication_contract.AuthenticationContract):
    """The contract of plugins on the example."""

    def make(self) -> SharedSecretPlugin:
        path = Path(self.mktemp())
        path.write_text("joe sesame\n")
        self.patch(os, "environ", {"SHARED_SECRETS": str(path)})
        return SharedSecretPlugin()


class SecretTests(SynchronousTestCase):
    """What the example refuses."""

    def outcome(self, name: str, secret: bytes) -> Any:
        """The bookie's exchange with a client."""
        bookie = SharedSecretBookie({"joe": b"sesame", "ann": b"mellon"}).bookie_exchange(_PEER)
        client = SharedSecretClient(name, secret).client_exchange(_PEER)
        token = self.successResultOf(client.next_token(None))
        challenge = self.successResultOf(bookie.next_token(token))
        self.successResultOf(bookie.next_token(self.successResultOf(client.next_token(challenge))))
        return bookie

    def test_secrets(self) -> None:
        """Each name goes with its own secret, and there is no other name."""
        self.assertEqual(self.outcome("ann", b"mellon").principal.name, "ann")
        for name, secret in (("joe", b"mellon"), ("joe", b""), ("", b"sesame"), ("bob", b"sesame")):
            error = self.assertRaises(UnauthorizedAccessError, self.outcome, name, secret)
            self.assertNotIn("sesame", str(error))

    def test_replayed(self) -> None:
        """No connection gets the challenge of another."""
        bookie = SharedSecretBookie({"joe": b"sesame"})
        first, second = (self.successResultOf(bookie.bookie_exchange(_PEER).next_token(b"joe")) for _ in range(2))
        self.assertNotEqual(first, second)

    def test_file(self) -> None:
        """A file that cannot be used ends the start, without a secret in the error."""
        path = Path(self.mktemp())
        for content in (None, "", "joe\n", "joe sesame x\n"):
            if content is not None:
                path.write_text(content)
            self.patch(os, "environ", {"SHARED_SECRETS": str(path)})
            self.assertNotIn("sesame", str(self.assertRaises(ConfigError, read_secrets)))


class LiveTests(TestCase):
    """A copy of the folder on the path of a bookie and of this process."""

    timeout = 60

    async def test_found(self) -> None:
        """The bookie lets in the client that knows its secret, and no other."""
        folder = Path(self.mktemp()).absolute()
        shutil.copytree(ROOT / "examples" / "own_plugin", folder)
        (folder / "all").write_text("joe sesame\nann mellon\n")
        environ = {**os.environ, "SHARED_SECRETS": str(folder / "all")}
        self.patch(os, "environ", environ)
        bookie = BookieProcess.start(reactor, str(folder / "data"), *_OPTIONS, path=str(folder))
        self.addCleanup(bookie.end)
        await bookie.serving
        self.patch(sys, "path", [*sys.path, str(folder)])
        self.patch(twisted.plugins, "__path__", [*twisted.plugins.__path__, str(folder / "twisted" / "plugins")])
        uri = f"sqlite:///{folder}/data/ledgers/metadata.db"
        for line, is_let_in in (("joe sesame", True), ("joe mellon", False)):
            (folder / "own").write_text(line)
            environ["SHARED_SECRETS"] = str(folder / "own")
            client = await BookKeeper.connect(
                reactor, uri, ClientConfig(client_auth_provider_factory_class="shared-secret")
            )
            self.addCleanup(client.close)
            try:
                await (await client.create_ledger(1, 1, 1)).append(b"entry")
            except BookKeeperError:
                self.assertFalse(is_let_in)
            else:
                self.assertTrue(is_let_in)

    def test_unknown(self) -> None:
        """Without the folder on the path the name is unknown."""
        twistd = "from twisted.scripts.twistd import run; run()"
        command = [sys.executable, "-c", twistd, "-n", "--pidfile=", "bookie", "--data", self.mktemp(), *_OPTIONS]
        environ = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, capture_output=True, text=True, env=environ, timeout=50)
        self.assertIn("no such authentication provider", done.stdout + done.stderr)
        self.assertNotEqual(done.returncode, 0)
