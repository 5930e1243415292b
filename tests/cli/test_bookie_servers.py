"""The HTTP server of a bookie."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.cli.bookie_servers import server_url
from bookkeeper_twisted.cli.shell_command import OperandError
from bookkeeper_twisted.errors import ConfigError
from bookkeeper_twisted.model import BookieServiceInfo, Endpoint


def _no_bookie() -> str:
    raise ConfigError("no address")


class ServerTests(SynchronousTestCase):
    """Where it listens."""

    def test_loopback(self) -> None:
        """A server on the loopback is asked where its bookie is, or where all are on the loopback; nowhere else."""
        http = Endpoint("httpserver", "127.0.0.1", 8080, "https")
        far = BookieServiceInfo((Endpoint("bookie", "10.0.0.9", 3181, "bookie-rpc"), http))
        self.assertEqual(server_url("10.0.0.9:3181", far, lambda: "10.0.0.9:3181"), "https://127.0.0.1:8080")
        for local_bookie in (lambda: "10.0.0.1:3181", _no_bookie):
            self.assertRaises(OperandError, server_url, "10.0.0.9:3181", far, local_bookie)
        near = BookieServiceInfo((Endpoint("bookie", "127.0.0.1", 3181, "bookie-rpc"), http))
        self.assertEqual(server_url("127.0.0.1:3181", near, _no_bookie), "https://127.0.0.1:8080")
        self.assertRaises(OperandError, server_url, "b", BookieServiceInfo(), _no_bookie)
