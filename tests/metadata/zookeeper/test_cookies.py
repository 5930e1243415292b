"""Cookies, where answers get lost and others write as well."""

from bookkeeper_twisted.errors import CookieExistsError, CookieNotFoundError, IncorrectParameterError
from bookkeeper_twisted.metadata.interfaces import Versioned
from bookkeeper_twisted.metadata.zookeeper.cookies import ZooKeeperCookies

from .rig import ZooKeeperCase


class CookiesTests(ZooKeeperCase):
    """:class:`ZooKeeperCookies`, beyond the contract."""

    def setUp(self) -> None:
        super().setUp()
        nodes, self.connection = self.znodes()
        self.cookies = ZooKeeperCookies(nodes)

    def test_parent(self) -> None:
        """The parent comes with the first cookie and is an ordinary node."""
        self.assertEqual(self.run_(self.cookies.ids()), set())
        self.run_(self.cookies.write("a:1", b"c", None))
        self.assertEqual(self.server.find("/ledgers/cookies").owner, 0)
        self.assertEqual(self.run_(self.cookies.ids()), {"a:1"})

    def test_somebody_elses(self) -> None:
        """After a lost answer another cookie is not taken for one's own (S6)."""
        self.run_(self.cookies.write("a:1", b"other", None))
        self.connection.lose(False)
        self.fails(CookieExistsError, self.cookies.write("a:1", b"mine", None))
        self.assertEqual(self.run_(self.cookies.read("a:1")), Versioned(b"other", 0))

    def test_repeated_create(self) -> None:
        """Without a lost answer an equal cookie is still another client's."""
        self.run_(self.cookies.write("a:1", b"c", None))
        self.fails(CookieExistsError, self.cookies.write("a:1", b"c", None))

    def test_bad_id(self) -> None:
        """An id that is a path is refused before it is one."""
        self.fails(IncorrectParameterError, self.cookies.read("../LAYOUT"))
        self.fails(IncorrectParameterError, self.cookies.remove("a/b", 0))
        self.fails(CookieNotFoundError, self.cookies.read("a:1"))
