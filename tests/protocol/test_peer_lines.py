"""Log lines that peers can cause."""

from typing import Any

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.protocol.peer_lines import INTERVAL, MAX_CAUSES, MAX_HOSTS, PeerLines, cause_of


class PeerLinesTests(SynchronousTestCase):
    """S11: what is logged, and what is only counted."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.lines = PeerLines(self.clock.seconds)
        self.logged: list[str] = []

    def log(self, peer: str, template: str = "{peer}: {why}", cause: str = "") -> None:
        def write(template: str, **fields: Any) -> None:
            self.logged.append(template.format(**fields))

        self.lines.log(write, template, peer, why="nonsense", cause=cause)

    def test_one_line_a_host(self) -> None:
        """A host has one line an interval, from whatever ports; the next line says how many were left out."""
        for port in range(1000):
            self.log(f"10.0.0.1:{port}")
        self.log("/run/socket")
        self.assertEqual(
            self.logged,
            ["10.0.0.1:0: nonsense",
             "/run/socket: nonsense (999 such lines were left out before this one)"],
        )  # fmt: skip
        self.clock.advance(INTERVAL)
        self.log("10.0.0.1:5")
        self.assertEqual(self.logged[2:], ["10.0.0.1:5: nonsense"])

    def test_many_hosts(self) -> None:
        """The number of hosts with lines is limited, too, and what is kept of them; old ones make room."""
        for i in range(MAX_HOSTS + 50):
            self.log(f"10.0.{i}.1:1")
        self.assertEqual(len(self.logged), MAX_HOSTS)
        self.clock.advance(INTERVAL)
        self.log("10.1.1.1:1")
        self.assertEqual(
            self.logged[MAX_HOSTS:], ["10.1.1.1:1: nonsense (50 such lines were left out before this one)"]
        )
        (kind,) = self.lines._kinds.values()
        self.assertEqual(len(kind.logged_at), 1)

    def test_kinds(self) -> None:
        """Lines of one kind hide none of another, whether one host causes them or many; each kind counts its own."""
        for i in range(2 * MAX_HOSTS):
            self.log(f"10.0.{i}.1:1")
        self.logged.clear()
        for _ in range(2):
            self.log("10.0.1.1:1", "no handshake with {peer}")
        self.log("10.0.2.1:1", "no handshake with {peer}")
        self.assertEqual(
            self.logged,
            ["no handshake with 10.0.1.1:1",
             "no handshake with 10.0.2.1:1 (1 such lines were left out before this one)"],
        )  # fmt: skip

    def test_causes(self) -> None:
        """A line hides none of the same kind with another cause; a host has a few causes an interval."""
        for _ in range(3):
            for cause in ("expired", "unknown"):
                self.log("10.0.0.1:1", "refusing {peer}", cause)
        self.assertEqual(self.logged, 2 * ["refusing 10.0.0.1:1"])
        for number in range(2 * MAX_CAUSES):
            self.log("10.0.0.1:1", "refusing {peer}", str(number))
        self.assertEqual(len(self.logged), MAX_CAUSES)
        self.log("10.0.0.2:1", "refusing {peer}", "expired")
        self.assertEqual(len(self.logged), MAX_CAUSES + 1)
        self.clock.advance(INTERVAL)
        self.log("10.0.0.1:1", "refusing {peer}", "another")
        self.assertEqual(len(self.logged), MAX_CAUSES + 2)
        (kind,) = self.lines._kinds.values()
        self.assertEqual(list(kind.logged_at["10.0.0.1"]), ["another"])

    def test_cause_of(self) -> None:
        """A cause has no names of users."""
        names = ("joe", "o'neil", "", "a 'b' c", "a'b\"c", "\\")
        causes = {cause_of(f"user {name!r} is not allowed") for name in names}
        self.assertEqual(causes, {"user '' is not allowed"})
        self.assertEqual(cause_of("Kerberos: it's expired"), "Kerberos: it's expired")
