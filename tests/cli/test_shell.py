"""Arguments of the shell, its help, its errors."""

from bookkeeper_twisted.cli.commands import COMMANDS
from bookkeeper_twisted.cli.shell import USAGE
from bookkeeper_twisted.errors import NotInitializedError

from .shell_case import ShellCase


class ArgumentsTests(ShellCase):
    """What is understood, and what is not."""

    def _refused(self, *arguments: str) -> str:
        self.assertEqual(self.shell(*arguments), 255)
        self.assertEqual((self.printed, self.complaints[1:]), ([], [USAGE]))
        return self.complaints[0]

    def _usage(self, name: str) -> list[str]:
        """The lines that ``help`` has for a command."""
        self.assertEqual(self.shell("help", name), 0)
        return self.printed

    def test_wrong_flag(self) -> None:
        """A flag or a value that a command does not take: status 255, why, and the usage of that command."""
        limit = 2147483647
        beyond = f"ledger_id: {1 << 63} was given, an integer from 0 to {(1 << 63) - 1} is wanted"
        for arguments, reason in (
            (("listbookies", "-x"), "unrecognized arguments: -x"),
            (("readledger", "-l"), "argument -l/-ledgerid/--ledgerid: expected one argument"),
            (("readledger", "-l", "x"), "argument -l/-ledgerid/--ledgerid: invalid ledger_id value: 'x'"),
            (("readledger", "-l", str(1 << 63)), f"argument -l/-ledgerid/--ledgerid: {beyond}"),
            (("listledgers", "-bookieid", ""), "argument -bookieid/--bookieid: expected a value that is not empty"),
            (("cookie_get", ""), "argument bookie_id: expected a value that is not empty"),
            (("ledger", "-m", str(1 << 63)), f"argument ledger_id: {beyond}"),
            (("simpletest", "-e", str(1 << 31)), f"argument -e/-ensemble/--ensemble: {1 << 31} is above {limit}"),
            (("simpletest", "-n", str(1 << 62)), f"argument -n/-numEntries/--numEntries: {1 << 62} is above {limit}"),
            (("bookiesanity", "-e", str(1 << 63)), f"argument -e/-entries/--entries: {1 << 63} is above {limit}"),
            (("simpletest", "-n", "-3"), "argument -n/-numEntries/--numEntries: -3 is below 0"),
            (("bookiesanity", "-e", "x"), "argument -e/-entries/--entries: invalid number value: 'x'"),
            (("decommissionbookie", "-patience", "nan"), "argument -patience/--patience: nan is no number above 0"),
            (("updateledgers", "-s", "-1"), "argument -s/-updatespersec/--updatespersec: -1 is no number above 0"),
            (("activeledgers", "-t", "-4"), "argument -t/-timeout/--timeout: -4 is below 0"),
            (("endpointinfo",), "the following arguments are required: -b/-bookieid/--bookieid"),
        ):
            with self.subTest(arguments):
                usage = self._usage(arguments[0])
                self.assertEqual(self.shell(*arguments), 255)
                self.assertEqual((self.printed, self.complaints), ([], [f"ERROR: {reason}", *usage]))

    def test_no_sense(self) -> None:
        """Unknown commands, and options before the command that make no sense: status 255, why, and the usage."""
        for arguments, reason in (
            ((), "no command; try help"),
            (("nosuch",), "Unknown command nosuch"),
            (("-x", "listledgers"), "unrecognized arguments: -x listledgers"),
            (("-conf",), "argument -conf/--conf: expected one argument"),
            (("-conf", "b.conf"), "no command; try help"),
            (("help", "nosuch"), "Unknown command nosuch"),
        ):
            with self.subTest(arguments):
                self.assertEqual(self._refused(*arguments), f"ERROR: {reason}")

    def test_choices(self) -> None:
        """A format that there is not is refused."""
        for option in ("-ledgeridformat", "-entryformat"):
            reason = f"ERROR: argument {option}/-{option}: invalid choice: 'x'"
            self.assertTrue(self._refused(option, "x", "listledgers").startswith(reason))

    def test_spellings(self) -> None:
        """A long option is taken with one dash and with two, and its short form."""
        self.written(1)
        for spelling in ("-l", "-ledgerid", "--ledgerid"):
            self.assertEqual(self.shell("readledger", spelling, "0"), 0)
            self.assertEqual(self.printed, ["Entry {entryId=0, entrySize=10, ledgerId=0}"])

    def test_file(self) -> None:
        """The store comes from the file of ``-conf``, else from that of ``BOOKIE_CONF``."""
        self.files["b.conf"] = f"metadataServiceUri={self.uri}\nensemblePlacementPolicy=random\n".encode()
        del self.environ["BK_metadataServiceUri"]
        for spelling in (("-conf", "b.conf"), ("--conf", "b.conf"), ("--conf=b.conf",)):
            self.assertEqual(self.shell(*spelling, "listbookies", "-rw"), 0)
        self.assertEqual(len(self.printed), 5)
        self.environ["BOOKIE_CONF"] = "b.conf"
        self.assertEqual(self.shell("listbookies", "-rw"), 0)
        self.assertEqual(len(self.printed), 5)

    def test_bad_file(self) -> None:
        """A file that is not there, is no text, or has a bad value is named."""
        self.files["bytes"] = b"\xff"
        self.files["bad.conf"] = b"bookiePort=x\n"
        for name, reason in (
            ("gone", "option -conf: gone: No such file or directory"),
            ("bytes", "option -conf: bytes: not a text file"),
            ("bad.conf", "bookiePort = 'x', bad.conf:1: expected an integer"),
        ):
            self.assertEqual(self._refused("-conf", name, "listledgers"), f"ERROR: {reason}")

    def test_ledger_ids(self) -> None:
        """Ledger ids are printed and read in the format that is asked for."""
        for _ in range(11):
            self.written(0)
        self.assertEqual(self.shell("-ledgeridformat", "hex", "ledgermetadata", "-l", "a"), 0)
        self.assertEqual(self.printed[0], "ledgerID {ledgerId=a}")
        uuid = "00000000-0000-0000-0000-00000000000a"
        self.assertEqual(self.shell("-ledgeridformat", "uuid", "ledgermetadata", "-l", uuid), 0)
        self.assertEqual(self.printed[0], f"ledgerID {{ledgerId={uuid}}}")

    def test_error(self) -> None:
        """An error of a command is one line and status 255."""
        self.assertEqual(self.shell("ledgermetadata", "-ledgerid", "4242"), 255)
        self.assertEqual(self.printed, [])
        (complaint,) = self.complaints
        self.assertRegex(complaint, "^ledgermetadata: .*4242")

    def test_no_cluster(self) -> None:
        """Where no URI was given, that is said of a cluster that is not there, in the place of how one is made."""

        def connect(uri: str, *_: object) -> None:
            raise NotInitializedError(f"{uri} does not exist")

        self.connect = connect
        self.assertEqual(self.shell("listledgers"), 255)
        self.assertIn("initnewcluster", self.complaints[0])
        self.environ["BK_ledgerDirectories"] = "/d"
        del self.environ["BK_metadataServiceUri"]
        self.assertEqual(self.shell("listledgers"), 255)
        self.assertEqual(self.complaints, [
            "listledgers: no metadataServiceUri was given (-conf FILE or BK_metadataServiceUri), and the default, "
            "sqlite:////d/metadata.db, holds no cluster"
        ])  # fmt: skip

    def test_closed_pipe(self) -> None:
        """A command ends, and does not complain, when its output is not read any more."""

        def closed(text: str) -> None:
            raise BrokenPipeError(32, "Broken pipe")

        self.written(1)
        self.out = closed
        for arguments in (["listledgers"], ["-help"]):
            self.assertEqual(self.shell(*arguments), 141)
            self.assertEqual(self.complaints, [])


class HelpTests(ShellCase):
    """What commands there are."""

    def test_all(self) -> None:
        """Every command is described, with all its options."""
        for word in ("help", "-h", "-help", "--help"):
            self.assertEqual(self.shell(word), 0)
            text = "\n".join(self.printed)
            for command in COMMANDS.values():
                self.assertIn(f"       {command.name} ", text)
                for argument in command.arguments:
                    self.assertIn(argument.help, text)

    def test_one(self) -> None:
        """Help on one command, asked for in two ways."""
        self.assertEqual(self.shell("help", "recover"), 0)
        asked = self.printed
        self.assertEqual(asked[1], "             Usage: recover [options] [bookies]")
        self.assertEqual(self.shell("recover", "--help"), 0)
        self.assertEqual(self.printed, asked)

    def test_help_itself(self) -> None:
        """``help`` and ``completion``, which are no commands of a cluster, have help, too."""
        self.assertEqual(self.shell("help"), 0)
        everything = self.printed
        for option in ("--help", "-help", "-h"):
            self.assertEqual(self.shell("help", option), 0)
            self.assertEqual(self.printed, everything)
            self.assertEqual(self.shell("completion", option), 0)
            self.assertEqual((self.printed, self.complaints), ([everything[-1]], []))
            self.assertIn("completion bash", everything[-1])

    def test_commands(self) -> None:
        """The commands are these."""
        expected = (
            "metaformat initnewcluster listbookies bookieinfo ledgermetadata listledgers readledger deleteledger"
            " rewrapledgerkeys"
            " simpletest bookiesanity whatisinstanceid recover lastmark listfilesondisc readlog readlogmetadata"
            " readjournal ledger activeledgers localconsistencycheck"
            " rebuild-db-ledger-locations-index check-db-ledgers-index rebuild-db-ledgers-index"
            " convert-to-db-storage convert-to-interleaved-storage regenerate-interleaved-storage-index-file"
            " initbookie bookieformat nukeexistingcluster clusterinfo endpointinfo"
            " cookie_create cookie_update cookie_delete cookie_get cookie_generate updatecookie"
            " updateledgers updateBookieInLedger autorecovery queryautorecoverystatus listunderreplicated whoisauditor"
            " triggeraudit forceauditchecks lostbookierecoverydelay decommissionbookie throttles top"
        )
        self.assertEqual(set(COMMANDS), set(expected.split()))
