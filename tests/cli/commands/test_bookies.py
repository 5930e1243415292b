"""``listbookies``, ``bookieinfo`` and ``endpointinfo``."""

from bookkeeper_twisted.errors import RequestTimeoutError
from bookkeeper_twisted.model import BookieServiceInfo, Endpoint

from ...vectors.shell import capture
from ..shell_case import BOOKIES, ShellCase

_LINES = [
    "bookie {bookieAddr=BookieID:127.0.0.1:3281, IP:127.0.0.1, Port:3281, Hostname:localhost}",
    "bookie {bookieAddr=BookieID:127.0.0.1:3282, IP:127.0.0.1, Port:3282, Hostname:localhost}",
    "bookie {bookieAddr=BookieID:127.0.0.1:3283, IP:127.0.0.1, Port:3283, Hostname:localhost}",
    "bookie {bookieAddr=BookieID:bookie-four, IP:127.0.0.1, Port:3284, Hostname:localhost}",
]


class ListBookiesTests(ShellCase):
    """Bookies by their mode."""

    def test_writable(self) -> None:
        """Those that take new ledgers."""
        self.assertEqual(self.shell("listbookies", "-rw", "-h"), 0)
        self.assertEqual(self.printed, ["ReadWrite Bookies :", *_LINES])

    def test_read_only(self) -> None:
        """Those that are read-only, or that there are none."""
        self.assertEqual(self.shell("listbookies", "-ro"), 0)
        self.assertEqual(self.printed, ["No bookie exists!"])
        info = self.do(self.cluster.registration.service_info(BOOKIES[0]))
        self.do(self.cluster.registration.register_bookie(BOOKIES[0], True, info))
        self.assertEqual(self.shell("listbookies", "-readonly"), 0)
        self.assertEqual(self.printed, ["Readonly Bookies :", _LINES[0]])

    def test_all(self) -> None:
        """Every bookie with a cookie, also those that are down."""
        for bookie_id in BOOKIES:
            self.do(self.cluster.registration.write_cookie(bookie_id, b"5\n", None))
        for bookie_id in BOOKIES[2:]:
            self.do(self.cluster.registration.unregister_bookie(bookie_id))
        self.assertEqual(self.shell("listbookies", "--all"), 0)
        lost = [f"bookie {{bookieAddr=BookieID:{b}, IP:UNKNOWN, Port:0, Hostname:UNKNOWN}}" for b in BOOKIES[2:]]
        self.assertEqual(self.printed, ["All Bookies :", *_LINES[:2], *lost])

    def test_one_of_three(self) -> None:
        """One mode must be named, and one only."""
        for flags in ((), ("-a", "-rw"), ("-ro", "-rw")):
            self.assertEqual(self.shell("listbookies", *flags), 1)
            self.assertEqual(self.printed, ["One and only one of -readwrite, -readonly and -all must be specified"])


class BookieInfoTests(ShellCase):
    """Disk space."""

    def test_space(self) -> None:
        """The space of each bookie and the totals."""
        self.assertEqual(self.shell("bookieinfo"), 0)
        self.assertEqual(self.printed[0], "Free disk space info:")
        self.assertEqual(
            self.printed[4],
            "Free disk space info {bookie=BookieID:bookie-four, IP:127.0.0.1, Port:3284, Hostname:localhost,"
            " free=549755813888(549.755GB), total=1099511627776(1.099TB)}",
        )
        self.assertEqual(
            self.printed[5:],
            [
                "Total free disk space in the cluster {free=2199023255552(2.199TB)}",
                "Total disk capacity in the cluster {total=4398046511104(4.398TB)}",
            ],
        )

    def test_no_answer(self) -> None:
        """A bookie that does not answer is not in the totals, and the status says that something is missing."""
        self.bookies[BOOKIES[0]].fail("bookie_info", lambda: RequestTimeoutError("no reply in time"))
        self.assertEqual(self.shell("bookieinfo"), 255)
        self.assertIn("error=no reply in time", self.printed[1])
        self.assertIn("free=1649267441664(1.649TB)", self.printed[5])

    def test_no_address(self) -> None:
        """A bookie that publishes no address is printed without."""
        self.do(self.cluster.registration.register_bookie("x", True, BookieServiceInfo()))
        self.assertEqual(self.shell("listbookies", "-ro"), 0)
        self.assertEqual(self.printed[1], "bookie {bookieAddr=BookieID:x, IP:UNKNOWN, Port:0, Hostname:UNKNOWN}")


class EndpointInfoTests(ShellCase):
    """What a bookie publishes."""

    def publish(self, bookie_id: str, info: BookieServiceInfo) -> None:
        """Has a bookie publish it."""
        self.do(self.cluster.registration.register_bookie(bookie_id, False, info))

    def test_as_apache(self) -> None:
        """The text of Apache's shell, for a bookie with an HTTP server and for one without."""
        http = Endpoint("httpserver", "127.0.0.1", 8281, "http")
        self.publish(BOOKIES[0], BookieServiceInfo((http, Endpoint("bookie", "127.0.0.1", 3281, "bookie-rpc"))))
        for name in ("endpointinfo", "endpointinfo-custom-id"):
            expected = capture(name)
            self.assertEqual(self.shell(*expected.arguments), 0)
            self.assertEqual(self.printed, expected.printed)

    def test_properties(self) -> None:
        """Properties, authentication and extensions are printed."""
        endpoint = Endpoint("bookie", "h", 1, "bookie-rpc", ("sasl", "tls"), ("x",))
        self.publish(BOOKIES[0], BookieServiceInfo((endpoint,), {"zone": "a"}))
        self.assertEqual(self.shell("endpointinfo", "-bookieid", BOOKIES[0]), 0)
        for text in ("property {key=zone, value=a}", "Auth {auth=[sasl, tls]}", "Extensions {extensions=[x]}"):
            self.assertIn(text, self.printed)

    def test_down(self) -> None:
        """A bookie that is known and down has none: status 1; so is one that nobody knows, with those that are."""
        self.do(self.cluster.registration.write_cookie(BOOKIES[0], b"5\n", None))
        self.do(self.cluster.registration.unregister_bookie(BOOKIES[0]))
        self.assertEqual(self.shell("endpointinfo", "-b", BOOKIES[0]), 1)
        self.assertEqual(self.printed[1:], ["Bookie did not publish any endpoint info. Maybe it is down"])
        self.assertEqual(self.shell("endpointinfo", "-b", "nobody:1"), 1)
        self.assertIn("Bookie does not exist, only {bookieId=nobody:1, allBookies=[127.0.0.1:3281, ", self.printed[0])
