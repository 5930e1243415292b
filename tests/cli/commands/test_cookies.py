"""The verbs on cookies."""

from bookkeeper_twisted.codec.metadata_formats.cookie import Cookie
from bookkeeper_twisted.storage.cookies import DirectoryLocks

from ..shell_case import BOOKIES
from ..stored_case import StoredCase

_NEW = "127.0.0.1:3999"
_COOKIE = Cookie(_NEW, "/bk/journal", ("/bk/ledgers",), None, "an-instance")


class CookieCase(StoredCase):
    """Cookies in the metadata store."""

    def stored_cookie(self, bookie_id: str) -> Cookie | None:
        """What the metadata store has of a bookie."""
        if bookie_id not in self.do(self.cluster.registration.all_bookies()):
            return None
        return Cookie.parse(self.do(self.cluster.registration.read_cookie(bookie_id)).value)

    def put_cookie(self, cookie: Cookie = _COOKIE) -> None:
        """Stores a cookie."""
        self.do(self.cluster.registration.write_cookie(cookie.bookie_id, cookie.encode(), None))


class StoreVerbTests(CookieCase):
    """``cookie_create``, ``cookie_update``, ``cookie_delete``, ``cookie_get``."""

    def test_create(self) -> None:
        """The cookie of a file is stored; a second one is refused and changes nothing."""
        self.files["cookie"] = _COOKIE.encode()
        self.assertEqual(self.shell("cookie_create", "-cf", "cookie", _NEW), 0, self.complaints)
        self.assertEqual(self.stored_cookie(_NEW), _COOKIE)
        self.files["cookie"] = Cookie(_NEW, "/other", ("/bk/ledgers",)).encode()
        self.assertEqual(self.shell("cookie_create", "--cookie-file", "cookie", _NEW), 255)
        self.assertIn("cookie_update", self.printed[0])
        self.assertEqual(self.stored_cookie(_NEW), _COOKIE)

    def test_update(self) -> None:
        """A cookie is replaced; where there is none, the verb that stores one is named."""
        changed = Cookie(_NEW, "/bk/journal", ("/bk/ledgers", "/bk/more"), None, "an-instance")
        self.files["cookie"] = changed.encode()
        self.assertEqual(self.shell("cookie_update", "-cf", "cookie", _NEW), 255)
        self.assertIn("cookie_create", self.printed[0])
        self.put_cookie()
        self.assertEqual(self.shell("cookie_update", "-cf", "cookie", _NEW), 0)
        self.assertEqual(self.stored_cookie(_NEW), changed)

    def test_update_of_a_damaged_cookie(self) -> None:
        """What is stored need not be readable to be replaced."""
        self.do(self.cluster.registration.write_cookie(_NEW, b"\xff", None))
        self.files["cookie"] = _COOKIE.encode()
        self.assertEqual(self.shell("cookie_update", "-cf", "cookie", _NEW), 0)
        self.assertEqual(self.stored_cookie(_NEW), _COOKIE)

    def test_delete(self) -> None:
        """A cookie goes, but not that of a bookie that runs."""
        self.put_cookie()
        self.assertEqual(self.shell("cookie_delete", "-f", _NEW), 0)
        self.assertIsNone(self.stored_cookie(_NEW))
        self.assertEqual(self.shell("cookie_delete", "-f", _NEW), 255)
        self.assertEqual(self.printed, [f"Cookie not found for bookie '{_NEW}'"])
        self.put_cookie(Cookie(BOOKIES[0], "/j", ("/l",)))
        self.assertEqual(self.shell("cookie_delete", "-f", BOOKIES[0]), 255)
        self.assertIn("running", self.complaints[0])
        self.assertIsNotNone(self.stored_cookie(BOOKIES[0]))

    def test_get(self) -> None:
        """The cookie as it is stored, byte for byte, whatever the form of the id."""
        for bookie_id in (_NEW, "a-name"):
            cookie = Cookie(bookie_id, "/bk/journal", ("/bk/ledgers",), None, "an-instance")
            self.put_cookie(cookie)
            self.assertEqual(self.shell("cookie_get", bookie_id), 0)
            expected = [f"Cookie for bookie '{bookie_id}' is:", "---", cookie.encode().decode(), "---"]
            self.assertEqual(self.printed, expected)
        self.assertEqual(self.shell("cookie_get", "unknown:1"), 255)

    def test_files_that_do_not_fit(self) -> None:
        """No file, no cookie in it, or the cookie of another bookie: each is said, and nothing is stored."""
        self.files["garbage"], self.files["other"] = b"garbage", Cookie("other:1", "/j", ("/l",)).encode()
        for arguments, text in (
            ((_NEW,), "-cf"), (("-cf", "garbage", _NEW), "no cookie"), (("-cf", "other", _NEW), "other:1"),
            (("-cf", "missing", _NEW), ": missing: No such file"), (("-cf", "other"), "No bookie id"),
        ):  # fmt: skip
            self.assertEqual(self.shell("cookie_create", *arguments), 255)
            self.assertIn(text, self.complaints[0])
        self.assertEqual(self.do(self.cluster.registration.all_bookies()), frozenset())


class GenerateTests(CookieCase):
    """``cookie_generate``."""

    def test_of_this_cluster(self) -> None:
        """The instance id is the cluster's unless one is given; directories are taken apart at commas."""
        options = ("-j", "/j1,/j2", "-l", "/l1, /l2", "-o", "cookie", _NEW)
        self.assertEqual(self.shell("cookie_generate", *options), 0, self.complaints)
        instance = self.do(self.cluster.registration.instance_id())
        self.assertEqual(
            Cookie.parse(self.files["cookie"]), Cookie(_NEW, "/j1,/j2", ("/l1", "/l2"), None, instance)
        )  # fmt: skip
        self.assertEqual(self.shell("cookie_generate", "-i", "other", "-ix", "/x1,/x2", *options), 0)
        self.assertEqual(
            Cookie.parse(self.files["cookie"]), Cookie(_NEW, "/j1,/j2", ("/l1", "/l2"), ("/x1", "/x2"), "other")
        )  # fmt: skip

    def test_what_is_missing(self) -> None:
        """The option that is missing is named."""
        self.assertEqual(self.shell("cookie_generate", "-j", "/j", "-o", "cookie", _NEW), 255)
        self.assertEqual(self.complaints, ["cookie_generate: No --ledger-dirs is specified"])


class UpdateCookieTests(CookieCase):
    """``updatecookie``, beside a bookie on a simulated disk."""

    def setUp(self) -> None:
        super().setUp()
        self.environ["BK_ledgerDirectories"] = "/ledgers"
        self.environ["BK_bookiePort"] = "3999"

    def start(self) -> None:
        """Stamps the directories of the configuration, as a first start does."""
        self.assertEqual(self.shell("updatecookie", "-expandstorage"), 0, (self.complaints, self.printed))

    def test_list(self) -> None:
        """The paths in the directories, and the ids in the metadata store."""
        self.start()
        self.put_cookie(Cookie("other:1", "/j", ("/l",)))
        self.assertEqual(self.shell("updatecookie", "-list"), 0)
        self.assertEqual(
            self.printed,
            [
                "Cookie {path=/journal/current/IDENTITY}",
                "Cookie {path=/ledgers/current/IDENTITY}",
                f"Cookie in the metadata store {{bookieId={_NEW}, local=true}}",
                "Cookie in the metadata store {bookieId=other:1}",
            ],
        )

    def test_expand(self) -> None:
        """An empty directory joins; one that holds something does not."""
        self.start()
        self.environ["BK_ledgerDirectories"] = "/ledgers,/more"
        self.start()
        stored = self.stored_cookie(_NEW)
        assert stored is not None
        self.assertEqual(stored.ledger_dirs, ("/ledgers", "/more"))
        self.disk.make_directories("/odd/current")
        file = self.disk.open("/odd/current/0.log", create=True)
        file.close()
        self.environ["BK_ledgerDirectories"] = "/ledgers,/more,/odd"
        self.assertEqual(self.shell("updatecookie", "-expandstorage"), 255)
        self.assertIn("/odd", self.complaints[0])
        self.assertEqual(self.stored_cookie(_NEW), stored)

    def test_refused_expansion(self) -> None:
        """It leaves nothing behind: not where a new directory would join, nor where the mistake is."""
        self.start()
        stored = self.stored_cookie(_NEW)
        self.disk.make_directories("/old")
        self.disk.open("/old/0.log", create=True)
        for key, directories, reason in (
            ("BK_journalDirectories", "/jurnal", "/jurnal"),
            ("BK_ledgerDirectories", "/more", "/more"),
            ("BK_ledgerDirectories", "/ledgers,/more,/old", "layout older than 3"),
        ):
            with self.subTest(directories):
                before, self.environ[key] = self.environ[key], directories
                self.assertEqual(self.shell("updatecookie", "-expandstorage"), 255)
                self.assertIn(reason, self.complaints[0])
                self.environ[key] = before
                self.assertEqual(self.disk.list("/"), ["journal", "ledgers", "old"])
                self.assertEqual(self.disk.list("/old"), ["0.log"])
                self.assertEqual(self.stored_cookie(_NEW), stored)

    def test_delete(self) -> None:
        """With the word force, everywhere; after that the directories hold nobody's cookie."""
        self.start()
        self.assertEqual(self.shell("updatecookie", "-delete", "yes"), 1)
        self.assertIsNotNone(self.stored_cookie(_NEW))
        self.assertEqual(self.shell("updatecookie", "-delete", "force"), 0)
        self.assertIsNone(self.stored_cookie(_NEW))
        for directory in ("/journal", "/ledgers"):
            self.assertFalse(self.disk.exists(f"{directory}/current/IDENTITY"))

    def test_new_name(self) -> None:
        """The cookie moves to the id that the configuration gives now, in all places; once more changes nothing."""
        self.start()
        self.environ["BK_useHostNameAsBookieID"] = "true"
        self.own_host_of = lambda config: "localhost"
        self.assertEqual(self.shell("updatecookie", "-bookieId", "ip"), 1)
        for _ in range(2):
            self.assertEqual(self.shell("updatecookie", "-bookieId", "hostname"), 0, self.complaints)
            self.assertIsNone(self.stored_cookie(_NEW))
            moved = self.stored_cookie("localhost:3999")
            assert moved is not None
            for directory in ("/journal", "/ledgers"):
                file = self.disk.open(f"{directory}/current/IDENTITY")
                self.assertEqual(Cookie.parse(file.pread(1 << 16, 0)), moved)
                file.close()

    def test_a_bookie_that_runs(self) -> None:
        """Where a process holds the directories, nothing changes."""
        self.start()
        locks = DirectoryLocks(self.disk, ["/journal", "/ledgers"])
        for options in (("-expandstorage",), ("-delete", "force")):
            self.assertEqual(self.shell("updatecookie", *options), 255)
        self.environ["BK_ledgerDirectories"] = "/ledgers,/more"
        self.assertEqual(self.shell("updatecookie", "-expandstorage"), 255)
        self.assertEqual(self.disk.list("/"), ["journal", "ledgers"])
        locks.release()
        self.assertIsNotNone(self.stored_cookie(_NEW))

    def test_no_directories(self) -> None:
        """A configuration whose directories hold no bookie is refused."""
        self.assertEqual(self.shell("updatecookie", "-delete", "force"), 255)
        self.assertIn("/journal holds no bookie", self.complaints[0])

    def test_one_of_four(self) -> None:
        """One action must be named, and one only."""
        for flags in ((), ("-list", "-expandstorage")):
            self.assertEqual(self.shell("updatecookie", *flags), 1)
