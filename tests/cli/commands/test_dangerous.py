"""The verbs that destroy data: each asks first, in the same way."""

import re

from bookkeeper_twisted.cli.commands import COMMANDS
from bookkeeper_twisted.codec.metadata_formats import Cookie

from ...storage.entries import run
from ..shell_case import BOOKIES
from ..stored_case import StoredCase
from ..test_shell_rows import PAGE

_GONE = BOOKIES[3]


class QuestionTests(StoredCase):
    """A cluster with a ledger, a lost bookie with a cookie, and a local bookie with data."""

    def setUp(self) -> None:
        super().setUp()
        self.stored([run(1, 0, 3)])
        self.written(1)
        self.do(self.cluster.registration.write_cookie(_GONE, Cookie(_GONE, "/j", ("/l",)).encode(), None))
        self.do(self.cluster.registration.unregister_bookie(_GONE))
        self.instance_id = self.do(self.cluster.registration.instance_id())
        root = self.uri.partition(":")[2]
        self.verbs = {
            "metaformat": (1,), "nukeexistingcluster": (1, "-p", root, "-i", self.instance_id),
            "deleteledger": (0, "-l", "0"), "bookieformat": (1,), "recover": (255, _GONE),
            "decommissionbookie": (1, "-bookieid", _GONE), "cookie_delete": (1, _GONE),
        }  # fmt: skip

    def _state(self) -> object:
        registration = self.cluster.registration
        ledgers = [self.do(self.client.ledger_metadata(0))]
        cluster = self.do(registration.all_bookies()), self.do(registration.instance_id()), ledgers
        return cluster, self.disk.digest()

    def test_asked(self) -> None:
        """Each verb that takes ``-force`` asks once; neither no nor the end of the input changes anything."""
        asking = {name for name, command in COMMANDS.items() if any("force" in a.names for a in command.arguments)}
        self.assertEqual(asking, set(self.verbs))
        before = self._state()
        for name, (status, *arguments) in self.verbs.items():
            for answer, expected in ((False, status), (None, 255)):
                with self.subTest(name, answer=answer):
                    self.questions, self.answers = [], [answer]
                    self.assertEqual(self.shell(name, *map(str, arguments)), expected)
                    self.assertEqual((len(self.questions), self._state()), (1, before))
            self.assertEqual(self.complaints, [f"{name}: not confirmed: nothing was done; -force does not ask"])

    def test_forced(self) -> None:
        """None asks if it is forced."""
        self.cluster.auditing.stand(BOOKIES[0], lambda elected: None)
        self.settle()
        for name, (_, *arguments) in self.verbs.items():
            if name in ("metaformat", "nukeexistingcluster"):  # they end the cluster, and have tests of their own
                continue
            if name == "cookie_delete":  # the bookie was decommissioned before
                self.do(self.cluster.registration.write_cookie(_GONE, b"5\n", None))
            self.assertEqual(self.shell(name, *map(str, arguments), "-force"), 0, (name, self.complaints))
        self.assertEqual(self.questions, [])

    def test_documented(self) -> None:
        """The table of the documentation has each of them, with the status after the answer no."""
        table = PAGE.read_text().split("after the answer no")[1].split("\n\n")[0]
        found = {name: int(status) for name, status in re.findall(r"^``(\w+)`` +(\d+) ", table, re.M)}
        self.assertEqual(found, {name: status for name, (status, *_) in self.verbs.items()})
