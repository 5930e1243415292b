"""Bar charts."""

from xml.etree import ElementTree

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.spark.pipelines.pictures import Bar, chart, human, page


class PictureTests(SynchronousTestCase):
    """Pages."""

    def test_chart(self) -> None:
        """Bars are as long as their values, small parts are visible, and texts are escaped."""
        svg = chart("A & B", [Bar("<one>", [("ok", 100.0), ("damaged", 0.001)], "note"), Bar("two", [("ok", 50.0)])])
        tree = ElementTree.fromstring(f"<div>{svg}</div>")
        rectangles = [r for r in tree.iter("rect") if r.find("title") is not None]
        widths = [float(rectangle.get("width", "0")) for rectangle in rectangles]
        self.assertEqual(widths, [720.0, 1.5, 360.0])
        self.assertIn("<one>", [text.text for text in tree.iter("text")])
        self.assertIn("<h1>A &amp; B</h1>", page("A & B", [svg]))

    def test_empty(self) -> None:
        """A chart without bars is one."""
        self.assertIn("<svg", chart("nothing", []))

    def test_bytes_for_people(self) -> None:
        """Bytes have the unit that suits them."""
        self.assertEqual([human(n) for n in (5, 2048, 3 << 20, 1 << 50)], ["5 B", "2.0 KiB", "3.0 MiB", "1024.0 TiB"])
