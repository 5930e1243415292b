"""``-json`` of the commands."""

from base64 import b64decode, b64encode

from bookkeeper_twisted.cli.commands import COMMANDS
from bookkeeper_twisted.codec.metadata_formats import Cookie
from bookkeeper_twisted.errors import RequestTimeoutError
from bookkeeper_twisted.model import BookieServiceInfo, Endpoint

from ...storage.entries import run
from ..shell_case import BOOKIES, ShellCase
from ..stored_case import StoredCase


class ClusterTests(ShellCase):
    """Commands that ask the metadata store and bookies."""

    def test_bookies(self) -> None:
        """Bookies with their addresses and states; no line where there is none, and no caption."""
        place = {"address": "127.0.0.1", "hostname": "localhost"}
        first = {"bookieId": BOOKIES[0], "port": 3281, "state": "writable", **place}
        self.assertEqual(self.rows("listbookies", "-rw")[0], first)
        self.assertEqual((self.rows("listbookies", "-ro"), self.complaints), ([], []))
        for bookie_id in BOOKIES:
            self.do(self.cluster.registration.write_cookie(bookie_id, b"5\n", None))
        self.do(self.cluster.registration.unregister_bookie(BOOKIES[1]))
        info = self.do(self.cluster.registration.service_info(BOOKIES[2]))
        self.do(self.cluster.registration.register_bookie(BOOKIES[2], True, info))
        found = self.rows("listbookies", "-a")
        self.assertEqual([each["state"] for each in found], ["writable", "down", "readOnly", "writable"])
        down = {"bookieId": BOOKIES[1], "address": None, "port": None, "hostname": None, "state": "down"}
        self.assertEqual(found[1], down)

    def test_space(self) -> None:
        """Free and total bytes of each bookie, or its error, which is the status as well."""
        found = self.rows("bookieinfo")
        self.assertEqual((found[3]["bookieId"], found[3]["free"], found[3]["error"]), (BOOKIES[3], 549755813888, None))
        self.bookies[BOOKIES[0]].fail("bookie_info", lambda: RequestTimeoutError("no reply in time"))
        found = self.rows("bookieinfo", status=255)
        self.assertEqual((found[0]["free"], found[0]["error"]), (None, "no reply in time"))

    def test_endpoints(self) -> None:
        """What a bookie publishes; where it is down, why there is none is a message."""
        endpoint = Endpoint("bookie", "h", 1, "bookie-rpc", ("sasl",), ("x",))
        info = BookieServiceInfo((endpoint,), {"z": "a"})
        self.do(self.cluster.registration.register_bookie(BOOKIES[0], False, info))
        (found,) = self.rows("endpointinfo", "-b", BOOKIES[0])
        self.assertEqual(found["properties"], {"z": "a"})
        of_endpoint = {"id": "bookie", "host": "h", "port": 1, "protocol": "bookie-rpc"}
        self.assertEqual(found["endpoints"], [{**of_endpoint, "auth": ["sasl"], "extensions": ["x"]}])
        self.assertEqual(self.rows("endpointinfo", "-b", "nobody:1", status=1), [])
        self.assertIn("Bookie does not exist", self.complaints[0])

    def test_cluster(self) -> None:
        """The facts about the cluster, and its id."""
        (found,) = self.rows("clusterinfo")
        self.assertEqual((found["auditorElected"], found["writableBookiesCount"]), (False, 4))
        instance_id = self.do(self.cluster.registration.instance_id())
        self.assertEqual(self.rows("whatisinstanceid"), [{"metadataServiceUri": self.uri, "instanceId": instance_id}])

    def test_ledgers(self) -> None:
        """Ids are numbers in every format of the text; metadata are objects where they are wanted."""
        for _ in range(11):
            self.written(1, password=b"pw")
        ids = [{"ledgerId": n, "metadata": None} for n in range(11)]
        self.assertEqual(self.rows("-ledgeridformat", "hex", "listledgers"), ids)
        of_bookie = self.rows("listledgers", "-m", "-bookieid", BOOKIES[0])
        self.assertEqual(of_bookie[10]["metadata"]["password"], b64encode(b"pw").decode())
        self.assertEqual(self.rows("ledgermetadata", "-l", "10"), of_bookie[10:])
        self.assertEqual(of_bookie[10]["metadata"]["ensembles"][0]["firstEntryId"], 0)

    def test_entries(self) -> None:
        """Payloads are base64 whatever they hold, and only where they are wanted."""
        self.written(2)
        found = self.rows("-entryformat", "hex", "readledger", "-l", "0", "-msg")
        self.assertEqual([(each["entryId"], each["size"]) for each in found], [(0, 10), (1, 20)])
        self.assertEqual(b64decode(found[0]["data"]), bytes(7 * i for i in range(10)))
        self.assertEqual({each["data"] for each in self.rows("readledger", "-l", "0")}, {None})

    def test_trials(self) -> None:
        """The trials say what they wrote, and what they read."""
        self.assertEqual(self.rows("simpletest", "-n", "5"), [{"ledgerId": 0, "entries": 5, "lastEntryId": 4}])
        self.environ["BK_bookieId"] = BOOKIES[0]
        self.assertEqual(self.rows("bookiesanity"), [{"ledgerId": 1, "entries": 10, "passed": True}])

    def test_cookies(self) -> None:
        """A cookie is printed as it is stored and as it is understood, if it is."""
        cookie = Cookie("a:1", "/j", ("/l",), None, "id")
        self.do(self.cluster.registration.write_cookie("a:1", cookie.encode(), None))
        self.do(self.cluster.registration.write_cookie("b:1", b"\xff", None))
        (found,) = self.rows("cookie_get", "a:1")
        self.assertEqual(b64decode(found.pop("cookie")), cookie.encode())
        understood = {"journalDirectories": "/j", "ledgerDirectories": ["/l"], "indexDirectories": None}
        self.assertEqual(found, {"bookieId": "a:1", "instanceId": "id", **understood})
        (found,) = self.rows("cookie_get", "b:1")
        self.assertEqual((found["cookie"], found["journalDirectories"]), ("/w==", None))
        self.assertEqual(self.rows("cookie_get", "c:1", status=255), [])
        self.assertEqual(self.complaints, ["Cookie not found for bookie 'c:1'"])

    def test_recovery(self) -> None:
        """What recovery would look at, with the bookies in question."""
        self.written(1)
        (found,) = self.rows("recover", "-q", f"{BOOKIES[0]},nobody:1")
        self.assertEqual((found["ledgerId"], found["state"], found["inspected"]), (0, "CLOSED", [BOOKIES[0]]))
        self.assertEqual(set(found["ensembles"][0]["bookies"]), set(BOOKIES))

    def test_autorecovery(self) -> None:
        """The switch, the delay, the auditor, marks and locks."""
        self.assertEqual(self.rows("autorecovery"), [{"enabled": True, "changed": None}])
        self.assertEqual(self.rows("autorecovery", "-d"), [{"enabled": False, "changed": True}])
        self.assertEqual(self.rows("autorecovery", "-d"), [{"enabled": False, "changed": False}])
        self.assertEqual(self.rows("lostbookierecoverydelay", "-s", "7"), [{"delay": 7, "changed": True}])
        self.assertEqual(self.rows("lostbookierecoverydelay", "-g"), [{"delay": 7, "changed": False}])
        self.assertEqual(self.rows("whoisauditor", status=255), [])
        self.assertEqual(self.complaints, ["No auditor elected"])
        self.cluster.auditing.stand(BOOKIES[0], lambda elected: None)
        self.settle()
        self.assertEqual(self.rows("whoisauditor"), [{"auditor": BOOKIES[0]}])
        self.assertEqual(self.rows("queryautorecoverystatus"), [])
        self.do(self.cluster.underreplication.mark(3, (BOOKIES[2],), 5))
        self.do(self.cluster.underreplication.lock(3, "host"))
        self.assertEqual(self.rows("queryautorecoverystatus"), [{"ledgerId": 3, "worker": "host"}])
        mark: dict[str, object] = {"ledgerId": 3, "ctime": 5, "missingReplicas": None, "worker": None}
        self.assertEqual(self.rows("listunderreplicated"), [mark])
        mark |= {"missingReplicas": [BOOKIES[2]], "worker": "host"}
        self.assertEqual(self.rows("listunderreplicated", "-pmr", "-prw"), [mark])


class StoredTests(StoredCase):
    """Commands that look at the files of a bookie."""

    def test_files(self) -> None:
        """Marks, files, and ledgers of a log."""
        self.stored([run(1, 0, 3), run(2, 0, 2)])
        self.assertEqual(self.rows("lastmark"), [{"directory": "/journal", "journalId": 0, "position": 0}])
        self.assertEqual(
            self.rows("listfilesondisc", "-log"), [{"kind": "entryLog", "path": "/ledgers/current/0.log"}]
        )
        self.assertEqual(self.rows("readlogmetadata", "0")[1], {"logId": 0, "ledgerId": 2, "size": 112})
        self.written(0), self.written(0)
        self.assertEqual(self.rows("activeledgers", "-l", "0"), [{"logId": 0, "ledgerId": 1}])

    def test_records(self) -> None:
        """Records of a log and of a journal, with the kind of each."""
        self.java("db-killed")
        found = self.rows("readlog", "0", "-msg")
        self.assertEqual((self.shell("readlog", "0"), len(self.printed)), (0, 2 * len(found) + 1))
        self.assertIn("entryId={entryId}, entrySize={size}, ".format(**found[0]), self.printed[1])
        self.assertEqual({each["kind"] for each in found}, {"entry"})
        journal = next(name for name in self.disk.list("/journal/current") if name.endswith(".txn"))
        found = self.rows("readjournal", journal)
        kinds = {each["kind"] for each in found}
        self.assertIn("masterKey", kinds)
        for each in found:
            self.assertEqual(each["masterKey"] is not None, each["kind"] == "masterKey")
            self.assertEqual(each["lastAddConfirmed"] is not None, each["kind"] == "entry")

    def test_ledger(self) -> None:
        """Places of entries; the facts about the ledger are a line before them where they are wanted."""
        self.stored([run(2, 0, 2)])
        place = {"ledgerId": 2, "entryId": 1, "directory": "/ledgers/current", "logId": 0, "position": 1084}
        self.assertEqual(self.rows("ledger", "2")[1], {**place, "facts": None})
        facts, *places = self.rows("ledger", "-m", "2")
        self.assertEqual(facts["facts"], {"masterKey": "a2V5", "size": 112, "entries": 2, "fenced": True})
        self.assertEqual((facts["entryId"], len(places)), (None, 2))
        self.assertEqual(self.rows("ledger", "3"), [])

    def test_checks(self) -> None:
        """The states of ledgers in an index, and every inconsistency."""
        self.stored([run(1, 0, 3), run(2, 0, 2)])
        states = [{"directory": "/ledgers/current", "ledgerId": n, "fenced": n == 2} for n in (1, 2)]
        self.assertEqual(self.rows("check-db-ledgers-index", "-v"), states)
        self.assertEqual(self.rows("localconsistencycheck"), [])
        self.disk.open("/ledgers/current/0.log").pwrite(b"?", 1024 + 50)
        (found,) = self.rows("localconsistencycheck", status=1)
        self.assertEqual((found["ledgerId"], found["entryId"]), (1, 0))

    def test_cookies(self) -> None:
        """Files, then ids in the metadata store."""
        self.stored([run(1, 0, 3)])
        self.do(self.cluster.registration.write_cookie(BOOKIES[0], b"5\n", None))
        self.assertEqual(self.rows("updatecookie", "-list"), [{"path": None, "bookieId": BOOKIES[0], "local": False}])


class RefusedTests(ShellCase):
    """Where there is no JSON."""

    def test_verbs(self) -> None:
        """A verb that lists nothing refuses the option, in both spellings, before it does anything."""
        for name, command in COMMANDS.items():
            if command.row is None:
                needed = [w for a in command.arguments if a.required for w in (f"-{a.names[-1].lstrip('-')}", "1")]
                for spelling in ("-json", "--json"):
                    self.assertEqual(self.shell(name, *needed, spelling), 255, name)
                    self.assertEqual(self.complaints[0], f"ERROR: {name} takes no -json: it lists nothing")
                    self.assertEqual((self.printed, self.questions), ([], []))

    def test_uses(self) -> None:
        """So does a use of a verb that lists nothing."""
        for arguments, reason in (
            (("recover", "-f", BOOKIES[0]), "goes with -query"),
            (("updatecookie", "-e"), "goes with -list"),
            (("check-db-ledgers-index",), "goes with -verbose"),
            (("listunderreplicated", "-c"), "prints the ledgers, not their number: count its lines"),
            (("ledgermetadata", "-l", "1", "-dumptofile", "f"),
             "prints metadata: not with -dumptofile or -restorefromfile"),
        ):  # fmt: skip
            self.assertEqual(self.shell(*arguments, "-json"), 255)
            self.assertEqual((self.printed, self.complaints), ([], [f"{arguments[0]}: -json {reason}"]))

    def test_help(self) -> None:
        """The help of a verb has the option where the verb takes it."""
        for name, expected in (("listledgers", True), ("deleteledger", False)):
            self.assertEqual(self.shell("help", name), 0)
            self.assertEqual("               -json" in self.printed, expected)
