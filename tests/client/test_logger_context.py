"""The fields of a caller in the log lines about its ledger."""

import json
from collections.abc import Sequence
from typing import Any

from twisted.logger import LogEvent, Logger, LogLevel, capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.client.logger_context import LoggerContext, logger_in
from bookkeeper_twisted.errors import BookieIOError, IncorrectParameterError
from bookkeeper_twisted.logs.json_lines import json_line

from .cluster_case import BOOKIES, ClusterCase

FIELDS = {"tenant": "acme", "request": "r 7"}
TEXT = "[tenant=acme request='r 7']"


class LineTests(ClusterCase):
    """Which lines have them."""

    def lines(self, work: Any, *arguments: Any, **keys: Any) -> list[LogEvent]:
        """The events of this package while something is done."""
        with capturedLogs() as events:
            work(*arguments, **keys)
            self.clock.pump([0.5] * 20)
        return [event for event in events if event["log_namespace"].startswith("bookkeeper_twisted.client")]

    def assertFields(self, events: Sequence[LogEvent], *texts: str) -> None:
        """There is a line with each text, and all have the fields."""
        lines = [str(formatEvent(event)) for event in events]
        for text in texts:
            self.assertTrue([line for line in lines if text in line], (text, lines))
        for event, line in zip(events, lines, strict=True):
            self.assertEqual(event["logger_context"], FIELDS, line)
            self.assertTrue(line.endswith(TEXT), line)

    def create(self, **more: Any) -> Any:
        """A writer of a new ledger with these fields."""
        return self.do(self.bk.create_ledger(3, 3, 2, logger_context=FIELDS, **more))

    def test_created(self) -> None:
        """The creation of a ledger, of both kinds."""
        self.assertFields(self.lines(self.create), "ledger 0 is created on ")
        adv = self.lines(self.bk.create_ledger_adv, 9, 3, 3, 2, logger_context=FIELDS)
        self.assertFields(adv, "ledger 9 is created on ")

    def test_deleted(self) -> None:
        """The deletion of a ledger."""
        self.do(self.create().close())
        self.assertFields(self.lines(self.bk.delete_ledger, 0, FIELDS), "ledger 0 is deleted")

    def test_recovered(self) -> None:
        """The recovery of a ledger that is opened, and one that fails."""
        self.do(self.create().append(b"x"))
        self.change("up", False)
        events = self.lines(lambda: self.bk.open_ledger(0, logger_context=FIELDS).addErrback(lambda _: None))
        self.assertFields(events, "ledger 0 was not recovered: ")
        self.change("up", True)
        events = self.lines(self.bk.open_ledger, 0, logger_context=FIELDS)
        self.assertFields(events, "ledger 0 is recovered, up to entry 0")

    def change(self, name: str, value: bool) -> None:
        """Set an attribute of all bookies."""
        for bookie_id in BOOKIES:
            setattr(self.bookies[bookie_id], name, value)

    def test_none(self) -> None:
        """Without fields, lines are as ever."""
        (event,) = self.lines(self.bk.create_ledger, 3, 3, 2, logger_context={})
        self.assertNotIn("logger_context", event)
        self.assertTrue(event["log_format"].endswith("{ensemble}"))

    def test_bookies_fail(self) -> None:
        """A bookie that does not take entries, the change of the ensemble, and the close that fails."""
        writer = self.create()
        first = writer.metadata.segments[0].bookies[0]
        self.bookies[first].fail("add", BookieIOError())
        events = self.lines(writer.append, b"x")
        self.assertFields(events, f"{first} does not take entries of ledger 0: ", "entries from 0 on go to ")
        self.do(self.cluster.ledgers.remove(0))
        events = self.lines(lambda: writer.close().addErrback(lambda _: None))
        self.assertFields(events, "ledger 0 was not closed: ")

    def test_change_fails(self) -> None:
        """An ensemble change that fails for an unforeseen reason is logged with its traceback and the fields."""
        writer = self.create()
        self.bookies[writer.metadata.segments[0].bookies[0]].fail("add", BookieIOError())

        def broken(*arguments: object) -> None:
            raise ZeroDivisionError

        self.patch(writer._stored, "replace", broken)
        events = self.lines(lambda: writer.append(b"x").addErrback(lambda _: None))
        self.assertFields(events, "an ensemble change failed")
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)

    def test_notice(self) -> None:
        """The LAC of an idle writer that bookies do not take."""
        self.bk = self.client(explicit_lac_interval=1000)
        writer = self.create()
        for bookie_id in BOOKIES:
            self.bookies[bookie_id].fail("write_lac", BookieIOError())
        self.do(writer.append(b"x"))
        self.assertFields(self.lines(lambda: None), "ledger 0: explicit LAC: ")

    def test_written_back(self) -> None:
        """A bookie that does not take entries that a recovery writes back."""
        writer = self.create()
        self.do(writer.append(b"x"))
        first = writer.metadata.segments[0].bookies[0]
        self.bookies[first].fail("add", BookieIOError())
        events = self.lines(self.bk.open_ledger, 0, logger_context=FIELDS)
        self.assertFields(events, f"{first} does not take entries of ledger 0: ", "ledger 0 is recovered")

    def test_of_two(self) -> None:
        """Of two ledgers of one client each has its own fields, and one without has none."""
        contexts: list[dict[str, str] | None] = [{"n": "a"}, None, {"n": "b"}]
        writers = [self.do(self.bk.create_ledger(4, 4, 2, logger_context=each)) for each in contexts]
        self.bookies["b0:1"].fail("add", BookieIOError())
        events = self.lines(lambda: [writer.append(b"x") for writer in writers])
        found = {event["ledger_id"]: event.get("logger_context") for event in events if "ledger_id" in event}
        self.assertEqual(found, dict(enumerate(contexts)))

    def test_arguments(self) -> None:
        """What is no mapping of text to text is refused, by each call; nothing is created or deleted."""
        for wrong in ("tenant=acme", [("a", "b")], {"a": 1}, {1: "a"}, {"a": None}, {"a": b"b"}):
            context: Any = wrong
            for work in (
                lambda context=context: self.bk.create_ledger(logger_context=context),
                lambda context=context: self.bk.create_ledger_adv(logger_context=context),
                lambda context=context: self.bk.open_ledger(0, logger_context=context),
                lambda context=context: self.bk.delete_ledger(0, context),
            ):
                error = self.error(work(), IncorrectParameterError)
                self.assertIn("logger_context", str(error))
        self.assertEqual(self.do(self.listed()), [])

    def test_copied(self) -> None:
        """What the caller does with its mapping afterwards changes nothing."""
        fields = dict(FIELDS)
        writer = self.do(self.bk.create_ledger(3, 3, 2, logger_context=fields))
        fields.clear()
        with capturedLogs() as events:
            writer._log.info("line")
        self.assertFields(events, "line")


class LoggerTests(SynchronousTestCase):
    """What a line looks like."""

    def line(self, fields: dict[str, str], **more: object) -> LogEvent:
        """The event of a line with these fields."""
        with capturedLogs() as events:
            logger_in(Logger("bookkeeper_twisted.x", self), LoggerContext(fields)).warn("a {what}", what="line", **more)
        (event,) = events
        return event

    def test_names(self) -> None:
        """Names that events of Twisted or of the client have, too, replace nothing."""
        fields = {"log_level": "x", "what": "y", "isError": "1", "log_format": "{what.x}", "time": "never"}
        event = self.line(fields)
        self.assertEqual((event["what"], event["log_level"]), ("line", LogLevel.warn))
        self.assertEqual(event["isError"], 0)
        text = "a line [log_level=x what=y isError=1 log_format={what.x} time=never]"
        self.assertEqual(formatEvent(event), text)

    def test_control_characters(self) -> None:
        """A value cannot begin a line of its own, nor move the cursor of a terminal, nor look like another field."""
        event = self.line({"a": "x\r\n2026 error", "b\x1b": "\x1b[31m", "c": "1 d=2", "e": "", "f": "x]"})
        expected = r"a line [a='x\r\n2026 error' 'b\x1b'='\x1b[31m' c='1 d=2' e='' f='x]']"
        self.assertEqual(formatEvent(event), expected)

    def test_json(self) -> None:
        """In JSON they are one object; the values of secrets are masked."""
        line = json.loads(str(json_line(self.line({"tenant": "acme", "password": "x"}))))
        self.assertEqual(line["fields"]["logger_context"], {"tenant": "acme", "password": "******"})

    def test_of_source(self) -> None:
        """Module and source are those of the logger; without fields it is the logger itself."""
        event = self.line({"a": "b"})
        self.assertEqual((event["log_namespace"], event["log_source"]), ("bookkeeper_twisted.x", self))
        logger = Logger("x")
        self.assertIs(logger_in(logger, None), logger)
