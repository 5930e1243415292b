"""The selectors of ``queried.txt``, and the samples that they find in an exposition."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import attrs

_QUERIED = Path(__file__).parent / "queried.txt"
USAGE = re.compile("bookie_ledger_dir_.+_usage")
"""The name of a metric that contains the path of a directory."""

_LABEL = re.compile(r'(\w+)(=~?)"([^"]*)"')


@attrs.frozen
class Sample:
    """A line of an exposition.  The parser of ``prometheus_client`` is not used, as it renames counters."""

    name: str
    labels: Mapping[str, str]
    value: float


@attrs.frozen
class Selector:
    """What a query asks for.

    :ivar text: as it is written in the list.
    :ivar labels: for each label, the regular expression of its values.
    :ivar moves: whether load makes a series of it greater than 0.
    """

    text: str
    name: str
    labels: tuple[tuple[str, str], ...]
    moves: bool = False

    @classmethod
    def of(cls, line: str) -> "Selector":
        """Reads a line of the list."""
        text, _, above = line.partition(" > ")
        name, _, rest = text.partition("{")
        labels = tuple((key, value if kind == "=~" else re.escape(value)) for key, kind, value in _LABEL.findall(rest))
        return cls(text, name, labels, above == "0")

    def select(self, samples: Iterable[Sample]) -> list[Sample]:
        """The samples that Prometheus would find."""
        return [
            sample
            for sample in samples
            if sample.name == self.name
            and all(re.fullmatch(pattern, sample.labels.get(key, "")) for key, pattern in self.labels)
        ]


def queried() -> dict[str, list[Selector]]:
    """The selectors by the source that has them."""
    found: dict[str, list[Selector]] = {}
    for part in _QUERIED.read_text().split("\n\n")[1:]:
        source, *lines = part.splitlines()
        found[source.removeprefix("# ")] = [Selector.of(line) for line in lines]
    return found


def samples(text: str) -> list[Sample]:
    """The samples of an exposition."""
    return [
        Sample(name, {key: value for key, _, value in _LABEL.findall(labels or "")}, float(value))
        for name, labels, value in re.findall(r"^(\w+)(\{.*\})? (\S+)$", text, re.M)
    ]
