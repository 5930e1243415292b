"""The lists of what public dashboards ask for."""

from fnmatch import fnmatchcase
from itertools import chain

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.instruments import Instruments
from bookkeeper_twisted.metrics import DiskMetrics, new_registry, render

from ..parity.reasons import DASHBOARDS
from .selectors import USAGE, Selector, queried, samples


class ListTests(SynchronousTestCase):
    """The lists themselves."""

    def test_sources(self) -> None:
        """Each list has a source and queries of bookies."""
        lists = queried()
        self.assertEqual(len(lists), 7)
        for source, selectors in lists.items():
            self.assertRegex(source, r"^[\w-]+/[\w-]+ \S+\.(json|yaml)")
            self.assertIn("bookie_WRITE_BYTES", [selector.name for selector in selectors])

    def test_reasons(self) -> None:
        """Every reason explains a query."""
        texts = [selector.text for selector in chain.from_iterable(queried().values())]
        self.assertEqual([each for each in DASHBOARDS if not any(fnmatchcase(text, each) for text in texts)], [])

    def test_directories(self) -> None:
        """The directories of the lists have their names, and as labels the paths as they are configured."""
        asked = {each.name for each in chain.from_iterable(queried().values()) if USAGE.fullmatch(each.name)}
        paths = ["data/bookkeeper/ledgers", "/pulsar/data/bookkeeper/ledgers-0"]
        instruments = Instruments()
        DiskMetrics(instruments, paths, [], lambda path: 0.5, lambda: 2)
        found = samples(render(new_registry(instruments)).decode())
        self.assertEqual({each.name for each in found if USAGE.fullmatch(each.name)}, asked)
        self.assertEqual([each.labels["ledgerDir"] for each in found if each.name == "bookie_ledger_dir_usage"], paths)

    def test_selectors(self) -> None:
        """A selector finds what Prometheus would find."""
        found = samples('a{l="x",m="y"} 1\na{l="xx"} 2\nab{l="x"} 3\na 4\n')

        def values(line: str) -> list[float]:
            return [sample.value for sample in Selector.of(line).select(found)]

        self.assertEqual(values("a"), [1, 2, 4])
        self.assertEqual(values('a{l="x"}'), [1])
        self.assertEqual(values('a{l=~"x.*"} > 0'), [1, 2])
        self.assertEqual(values('a{l=~".+",m="y"}'), [1])
        self.assertEqual((Selector.of("a > 0").moves, Selector.of("a").moves), (True, False))
