"""The verbs on autorecovery."""

from bookkeeper_twisted.model import AuditorCheck

from ...vectors.shell import capture
from ..shell_case import BOOKIES, ShellCase

_CTIME = 1795225176056


class AutorecoveryCase(ShellCase):
    """Marks, locks and the auditor of the cluster of the shell."""

    def mark(self, ledger_id: int, *replicas: str) -> None:
        """Marks a ledger."""
        self.do(self.cluster.underreplication.mark(ledger_id, replicas, _CTIME))

    def elect(self, bookie_id: str = BOOKIES[0]) -> None:
        """Makes an auditor."""
        self.cluster.auditing.stand(bookie_id, lambda elected: None)
        self.settle()

    def assertPrints(self, *lines: str) -> None:
        """What the last command has printed."""
        self.assertEqual(self.printed, list(lines))

    def assertAsCaptured(self, name: str) -> None:
        """The command of a capture prints what Apache's shell printed."""
        expected = capture(name)
        self.assertEqual(self.shell(*expected.arguments), 0, self.complaints)
        self.assertEqual(self.printed, expected.printed)


class SwitchTests(AutorecoveryCase):
    """``autorecovery``."""

    def test_off_and_on(self) -> None:
        """The switch is turned once, and said to be so already after that."""
        self.assertAsCaptured("autorecovery-disable")
        self.assertFalse(self.do(self.cluster.underreplication.is_enabled()))
        self.assertEqual(self.shell("autorecovery", "-disable"), 0)
        self.assertPrints("Autorecovery already disabled. Doing nothing")
        self.assertEqual(self.shell("autorecovery"), 0)
        self.assertPrints("Autorecovery is disabled.")
        self.assertAsCaptured("autorecovery-enable")
        self.assertTrue(self.do(self.cluster.underreplication.is_enabled()))
        self.assertEqual(self.shell("autorecovery", "-e"), 0)
        self.assertPrints("Autorecovery already enabled. Doing nothing")

    def test_both(self) -> None:
        """Two directions at once are refused."""
        self.assertEqual(self.shell("autorecovery", "-e", "-d"), 255)


class ListTests(AutorecoveryCase):
    """``listunderreplicated`` and ``queryautorecoverystatus``."""

    def setUp(self) -> None:
        super().setUp()
        self.mark(3, BOOKIES[2])
        self.mark(12, BOOKIES[2], "bookie-four")
        self.mark(4)

    def test_all(self) -> None:
        """Marked ledgers in ascending order, and their number."""
        self.assertEqual(self.shell("listunderreplicated"), 0)
        ctime = f"Ctime {{ctime={_CTIME}}}"
        ledgers = [f"Under-replicated ledger {{ledgerId={n}}}" for n in (3, 4, 12)]
        count = "Under replicated ledger count {count=3}"
        self.assertPrints(ledgers[0], ctime, ledgers[1], ctime, ledgers[2], ctime, count)

    def test_replicas(self) -> None:
        """The bookies that lack replicas, in the words of Apache's shell."""
        self.assertEqual(self.shell("listunderreplicated", "-printmissingreplica", "-mr", "bookie-four"), 0)
        captured = capture("listunderreplicated-printreplicas").printed
        expected = [
            "Under-replicated ledger {ledgerId=12}", f"Ctime {{ctime={_CTIME}}}",
            f"Missing replica {{missingReplica={BOOKIES[2]}}}", "Missing replica {missingReplica=bookie-four}",
        ]  # fmt: skip
        self.assertPrints(*expected, "Under replicated ledger count {count=1}")
        for text in (expected[0], expected[2], expected[3]):
            self.assertIn(text, captured)

    def test_filters(self) -> None:
        """By a bookie that is missing, by one that is not, and the number alone."""
        for options, count in (
            (("-missingreplica", BOOKIES[2]), 2), (("-emr", "bookie-four"), 2), (("-mr", "nobody:1"), 0),
            (("-mr", BOOKIES[2], "-excludingmissingreplica", "bookie-four"), 1),
        ):  # fmt: skip
            self.assertEqual(self.shell("listunderreplicated", "-c", *options), 0)
            self.assertPrints(f"Under replicated ledger count {{count={count}}}")

    def test_workers(self) -> None:
        """The hosts of workers that hold locks."""
        self.assertEqual(self.shell("queryautorecoverystatus"), 0)
        self.assertPrints("No Ledger is being recovered")
        for ledger_id in (4, 12):
            self.do(self.cluster.underreplication.lock(ledger_id, "localhost"))
        self.assertEqual(self.shell("queryautorecoverystatus"), 0)
        lines = [f"Recovering ledger {{bookieId=localhost, ledgerId={n}}}" for n in (4, 12)]
        self.assertPrints("CurrentRecoverLedgerInfo:", *lines)
        for text in ("CurrentRecoverLedgerInfo:", lines[0]):
            self.assertIn(text, capture("queryautorecoverystatus").printed)
        self.assertEqual(self.shell("listunderreplicated", "-prw"), 0)
        self.assertEqual(self.printed.count("Replication worker {replicationWorkerId=localhost}"), 2)

    def test_reasons(self) -> None:
        """What a worker says of a ledger that it does not repair is in both lists."""
        text = "host: waits until 2026-11-22T14:40:12Z: bookie a:1 could not be checked"
        self.do(self.cluster.underreplication.lock(4, "host"))
        self.do(self.cluster.underreplication.describe_lock(4, text))
        self.assertEqual(self.shell("queryautorecoverystatus"), 0)
        self.assertPrints("CurrentRecoverLedgerInfo:", f"Recovering ledger {{bookieId={text}, ledgerId=4}}")
        self.assertEqual(self.shell("listunderreplicated", "-prw"), 0)
        self.assertIn(f"Replication worker {{replicationWorkerId={text}}}", self.printed)


class AuditorTests(AutorecoveryCase):
    """``whoisauditor``, ``triggeraudit``, ``forceauditchecks``, ``lostbookierecoverydelay``."""

    def test_who(self) -> None:
        """The id of the auditor, or that there is none."""
        self.assertEqual(self.shell("whoisauditor"), 255)
        self.assertPrints("No auditor elected")
        self.elect()
        self.assertAsCaptured("whoisauditor")

    def test_trigger(self) -> None:
        """An audit is triggered by the delay that is stored already; not without an auditor, not while disabled."""
        self.assertEqual(self.shell("triggeraudit"), 255)
        self.assertIn("no auditor", self.complaints[0])
        self.elect()
        self.do(self.cluster.auditing.set_lost_bookie_delay(7))
        heard: list[int | None] = []
        self.addCleanup(self.cluster.auditing.watch_lost_bookie_delay(heard.append))
        self.settle()
        self.assertEqual(self.shell("triggeraudit"), 0)
        self.settle()
        self.assertEqual(heard, [7, 7])
        self.do(self.cluster.underreplication.set_enabled(False))
        self.assertEqual(self.shell("triggeraudit"), 255)
        self.assertIn("autorecovery -enable", self.complaints[0])

    def test_forced_checks(self) -> None:
        """The chosen checks, and no other, look as if they had ended three weeks ago."""
        self.clock.advance(30 * 24 * 3600)
        self.assertEqual(self.shell("forceauditchecks"), 255)
        self.assertEqual(self.shell("forceauditchecks", "-calc", "-rc"), 0, self.complaints)
        names = [text.partition(" {")[0] for text in capture("forceauditchecks").printed]
        self.assertEqual([text.partition(" {")[0] for text in self.printed], [names[0], names[2]])
        times = [self.do(self.cluster.auditing.check_time(check)) for check in AuditorCheck]
        stored = 9 * 24 * 3600 * 1000
        self.assertEqual(times, [stored if c is not AuditorCheck.PLACEMENT else None for c in AuditorCheck])

    def test_delay(self) -> None:
        """It is printed and set; 0 is a value as any other."""
        self.assertAsCaptured("lostbookierecoverydelay-get")
        self.assertAsCaptured("lostbookierecoverydelay-set")
        self.assertEqual(self.do(self.cluster.auditing.lost_bookie_delay()), 7)
        self.assertEqual(self.shell("lostbookierecoverydelay", "-s", "0"), 0)
        self.assertEqual(self.do(self.cluster.auditing.lost_bookie_delay()), 0)
        self.assertEqual(self.shell("lostbookierecoverydelay", "-s", "-1"), 255)
        for options in ((), ("-g", "-s", "1")):
            self.assertEqual(self.shell("lostbookierecoverydelay", *options), 255)
            self.assertPrints("One and only one of -get and -set must be specified")
