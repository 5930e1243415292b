"""Rows of the shell as text and as JSON."""

import json
import re
from collections.abc import Iterable
from pathlib import Path

import attrs
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.cli.commands import COMMANDS
from bookkeeper_twisted.cli.shell_rows import Formats, ShellRow
from bookkeeper_twisted.model import LedgerMetadata, LedgerState, Segment

PAGE = Path(__file__).parents[2] / "docs" / "shell.rst"


@attrs.frozen
class _Sample(ShellRow):
    """One of each kind of value."""

    ledger_id: int
    some_bytes: bytes = b""
    latency_p99_ms: float | None = None
    segments: tuple[Segment, ...] = ()
    by_name: object = None

    def text(self, formats: Formats) -> Iterable[str]:
        yield formats.format_id(self.ledger_id)


class JsonTests(SynchronousTestCase):
    """Values."""

    def test_values(self) -> None:
        """Ids stay numbers, bytes are base64, objects are inside others; names are in camel case, in their order."""
        row = _Sample((1 << 63) - 1, b"\0\xff", 1.5, (Segment(3, ("a:1", "b:1")),), {"x": b"y"})
        self.assertEqual(
            row.json_line(),
            '{"ledgerId": 9223372036854775807, "someBytes": "AP8=", "latencyP99Ms": 1.5,'
            ' "segments": [{"firstEntryId": 3, "bookies": ["a:1", "b:1"]}], "byName": {"x": "eQ=="}}',
        )
        self.assertEqual(tuple(json.loads(row.json_line())), _Sample.members())

    def test_no_number(self) -> None:
        """A number that JSON does not have is null; a text that is no Unicode is still ASCII."""
        for number in (float("nan"), float("inf")):
            self.assertIsNone(json.loads(_Sample(1, latency_p99_ms=number).json_line())["latencyP99Ms"])
        self.assertIn('"caf\\u00e9\\udcff"', _Sample(1, by_name="caf\u00e9\udcff").json_line())

    def test_metadata(self) -> None:
        """Metadata of a ledger have the same members whatever is stored."""
        ledgers = [
            LedgerMetadata(1, 1, 1, (Segment(0, ("a:1",)),), password=b"p", custom_metadata={"k": b"v"}),
            LedgerMetadata(
                1, 1, 1, (Segment(0, ("a:1",)),), LedgerState.CLOSED, 5, 0, has_password=False, ctime=7,
            ),
        ]  # fmt: skip
        opened, closed = (json.loads(_Sample(1, by_name=each).json_line())["byName"] for each in ledgers)
        self.assertEqual(list(opened), list(closed))
        self.assertEqual(
            (opened["state"], opened["length"], opened["password"], opened["customMetadata"], opened["ctime"]),
            ("OPEN", None, "cA==", {"k": "dg=="}, None),
        )
        self.assertEqual((closed["lastEntryId"], closed["password"], closed["ctime"]), (0, None, 7))
        self.assertEqual(closed["ensembles"], [{"firstEntryId": 0, "bookies": ["a:1"]}])

    def test_of(self) -> None:
        """A row is made of members; those with a default may be missing, no other."""
        self.assertEqual(_Sample.of({"ledgerId": 4, "latencyP99Ms": 2, "unknown": 1}), _Sample(4, latency_p99_ms=2))
        self.assertRaises(KeyError, _Sample.of, {"latencyP99Ms": 2})


class TableTests(SynchronousTestCase):
    """The table of the documentation."""

    def test_members(self) -> None:
        """Every verb is in it, with the members of its rows in their order, or with ``no``."""
        table = PAGE.read_text().split("members of the JSON object")[1].split("\n\n")[0]
        found = {name: text.strip() for name, text in re.findall(r"^``(\S+)`` +(.*(?:\n  .*)*)", table, re.M)}
        self.assertEqual(set(found), set(COMMANDS))
        for name, command in COMMANDS.items():
            expected = ", ".join(f"``{member}``" for member in command.row.members()) if command.row else "no"
            text = re.sub(r"\s+", " ", found[name])
            self.assertTrue(text == expected or (command.row and re.match(re.escape(expected) + "[,;:]", text)), text)
