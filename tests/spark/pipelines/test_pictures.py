"""Bar charts."""

from typing import NamedTuple
from xml.etree import ElementTree

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.spark.pipelines.pictures import (
    Bar,
    chart,
    findings,
    human,
    page,
    replica_bars,
    space_bars,
)


class Total(NamedTuple):
    """A row of a summary."""

    bookie_id: str
    status: str
    entries: int


class Space(NamedTuple):
    """A row of the usage."""

    ledger_id: int
    bytes: int


class Wrong(NamedTuple):
    """A row of a check."""

    ledger_id: int
    first: int
    last: int
    entries: int
    bookie_id: str
    status: str
    detail: str


class PictureTests(SynchronousTestCase):
    """Pages."""

    def test_chart(self) -> None:
        """Bars are as long as their values, small parts are visible, and texts are escaped."""
        svg = chart("A & B", [Bar("<one>", [("ok", 100.0), ("damaged", 0.001)], "note"), Bar("two", [("ok", 50.0)])])
        tree = ElementTree.fromstring(f"<div>{svg}</div>")
        rectangles = [r for r in tree.iter("rect") if r.find("title") is not None]
        widths = [float(rectangle.get("width", "0")) for rectangle in rectangles]
        self.assertEqual(widths, [720.0, 4.0, 360.0])
        self.assertEqual([text.text for text in tree.iter("text")], ["ok", "damaged", "<one>", "note", "two", None])
        self.assertIn("<h1>A &amp; B</h1>", page("A & B", [svg]))

    def test_bars(self) -> None:
        """Bars of bookies end with what is sound and say how much there is of each; those of ledgers may have names."""
        rows = [Total("b1", "ok", 2000), Total("b1", "damaged", 1), Total("b0", "ok", 5)]
        bars = [Bar("b0", [("ok", 5)], "5 ok"), Bar("b1", [("damaged", 1), ("ok", 2000)], "1 damaged, 2,000 ok")]
        self.assertEqual(replica_bars(rows), bars)
        bars = space_bars([Space(7, 2048), Space(8, 5)], {8: "logs"})
        self.assertEqual([(bar.label, bar.note) for bar in bars], [("ledger 7", "2.0 KiB"), ("logs", "5 B")])
        self.assertNotIn(">bytes</text>", chart("one kind of part needs no legend", bars))

    def test_findings(self) -> None:
        """What is wrong is a table; where nothing is there is none."""
        text = findings([Wrong(7, 1, 5, 3, "b0", "damaged", "digest <>")])
        cells = [cell.text for cell in ElementTree.fromstring(f"<div>{text}</div>").iter("td")]
        self.assertEqual(cells, ["7", "1", "5", "3", "b0", "damaged", "digest <>"])
        self.assertEqual(findings([]), "")

    def test_empty(self) -> None:
        """A chart without bars is one."""
        self.assertIn("<svg", chart("nothing", []))

    def test_bytes_for_people(self) -> None:
        """Bytes have the unit that suits them."""
        self.assertEqual([human(n) for n in (5, 2048, 3 << 20, 1 << 50)], ["5 B", "2.0 KiB", "3.0 MiB", "1024.0 TiB"])
