"""A cluster under load has every series that public dashboards ask for."""

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from itertools import chain
from math import isnan
from pathlib import Path

from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.trial.unittest import TestCase

from ..dashboards import ours
from ..dashboards.cluster import LoadedCluster
from ..dashboards.selectors import USAGE, Sample, Selector, queried
from ..parity.reasons import DASHBOARDS

_OF_AUTORECOVERY = ("auditor_", "replication_worker_", "ledger_checker_")


def _theirs() -> list[Selector]:
    """The selectors of all lists, each once, without those that a reason explains."""
    every = {selector.text: selector for selector in chain.from_iterable(queried().values())}
    return [
        selector
        for text, selector in every.items()
        if not any(fnmatchcase(text, pattern) for pattern in DASHBOARDS) and not USAGE.fullmatch(selector.name)
    ]


def _wrong(selector: Selector, scraped: Mapping[str, list[Sample]]) -> Iterator[str]:
    """Says what is wrong with the series of a selector.

    :param scraped: the samples of each bookie; the first of them has autorecovery.
    """
    found = {bookie_id: [each.value for each in selector.select(samples)] for bookie_id, samples in scraped.items()}
    for bookie_id in list(found)[: 1 if selector.name.startswith(_OF_AUTORECOVERY) else None]:
        if not found[bookie_id]:
            yield f"{selector.text} has no series on {bookie_id}"
    values = list(chain.from_iterable(found.values()))
    if ("success", "true") in selector.labels and all(map(isnan, values)):
        yield f"{selector.text} is not a number"
    if selector.moves and not max(values, default=0) > 0:
        yield f"{selector.text} is not above 0"


class LoadTests(TestCase):
    """Three bookies with autorecovery, one of which is lost under load."""

    timeout = 120

    async def test_every_query(self) -> None:
        """Every query finds series with its labels on each bookie, not empty where there was load; so do ours."""
        cluster = LoadedCluster(reactor, Path(self.mktemp()).absolute())
        self.addCleanup(lambda: Deferred.fromCoroutine(cluster.stop()))
        await cluster.start()
        await cluster.load()
        found = await cluster.scrape()
        self.assertEqual(len(found), 2)
        self.assertEqual([line for selector in _theirs() for line in _wrong(selector, found)], [])
        self.assertEqual([line for selector in ours.asked() for line in _wrong(selector, found)], [])
