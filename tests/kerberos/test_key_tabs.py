"""Files of keys that change while a bookie or a client runs, with the library of Kerberos and a real KDC."""

import shutil
from collections.abc import Callable
from pathlib import Path

from twisted.internet.task import Clock
from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.authentication.sasl.gssapi_contexts import installed_kerberos
from bookkeeper_twisted.authentication.sasl.jaas import KerberosLogin
from bookkeeper_twisted.authentication.sasl.kerberos import from_key_tab
from bookkeeper_twisted.errors import ConfigError, UnauthorizedAccessError
from bookkeeper_twisted.security.files import REFRESH_SECONDS

from .realm import HOSTS, REALM, SERVICE, STRANGER, WRITER, shared_realm

_SERVICE = SERVICE.format(HOSTS[0])


class KeyTabTests(SynchronousTestCase):
    """Contexts of a bookie and of a client, without a connection between them."""

    def setUp(self) -> None:
        self.realm, self.clock = shared_realm(), Clock()
        self.kerberos = installed_kerberos()
        self.path = Path(self.mktemp())
        self.path.touch(0o600)

    def put(self, key_tab: Path) -> None:
        """Put a file of keys in the place of the one that is used."""
        shutil.copyfile(key_tab, self.path)
        self.path.chmod(0o600)

    def login(self, name: str, path: Path | None = None) -> KerberosLogin:
        """The login of a principal by the file of keys."""
        return KerberosLogin(f"{name}@{REALM}", str(path or self.path), "")

    def changed(self, change: Callable[[], object], use: Callable[[], object]) -> str:
        """The line of the log about a change of the file of keys."""
        change()
        self.clock.advance(REFRESH_SECONDS)
        with capturedLogs() as events:
            use()
        (event,) = events
        return formatEvent(event)

    def test_bookie(self) -> None:
        """Keys that break are one line of the log, and the previous ones admit clients; the new ones do with a line."""
        self.put(self.realm.key_tab(_SERVICE))
        login = self.login(_SERVICE)
        accepting = from_key_tab(login, lambda: self.kerberos.acceptor(login), self.clock.seconds)
        writer = self.login(WRITER, self.realm.key_tab(WRITER))
        asking = self.kerberos.initiator(writer, "bookkeeper")

        def admit() -> None:
            client, bookie = asking(HOSTS[0]), accepting()
            client.step(bookie.step(client.step(None)))
            self.assertEqual((client.is_complete, bookie.peer), (True, f"{WRITER}@{REALM}"))

        admit()
        for change in (
            lambda: self.path.write_bytes(b"\5\2" + bytes(range(200))), lambda: self.path.write_bytes(b""),
            lambda: self.put(self.realm.key_tab(WRITER)), self.path.unlink, self.path.mkdir,
        ):  # fmt: skip
            line = self.changed(change, admit)
            self.assertIn("cannot be used, the previous ones stay in use: keyTab = ", line)
            self.assertNotIn("/proc/", line)
        self.path.rmdir()
        self.assertIn("new ones", self.changed(lambda: self.put(self.realm.key_tab(_SERVICE)), admit))
        refused = lambda: self.assertRaises(UnauthorizedAccessError, admit)  # noqa: E731
        self.assertIn("new ones", self.changed(lambda: self.put(self.realm.other_keys(_SERVICE)), refused))

    def test_client(self) -> None:
        """A client whose file has no key of its principal is not made; the error names both."""
        self.put(self.realm.key_tab(STRANGER))
        error = str(self.assertRaises(ConfigError, self.kerberos.initiator, self.login(WRITER), "bookkeeper"))
        self.assertIn(f"keyTab = '{self.path}': it has no key of '{WRITER}@{REALM}': Kerberos: ", error)
        self.assertNotIn("/proc/", error)
