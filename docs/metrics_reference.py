"""Writes the table of everything a bookie exports, from a bookie that runs for a moment."""

import re
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import attrs

from bookkeeper_twisted.blocking import ReactorThread
from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.embedding import make_bookie, standalone_configs
from bookkeeper_twisted.metrics import process_registry, render

_GROUPS = {
    "bookie_journal_": "Journal",
    "bookkeeper_server_": "Requests",
    "bookie_connection": "Connections",
    "throttle_": "Speed limits",
    "process_": "Process",
    "": "Bookie and storage",
}


@attrs.frozen
class Exported:
    """One metric.

    :ivar labels: their names.
    """

    name: str
    kind: str
    labels: tuple[str, ...]


def exported() -> list[Exported]:
    """What a bookie exports that has just started."""
    thread = ReactorThread()
    with tempfile.TemporaryDirectory() as directory:
        plain = BookieConfig(bookie_port=0, listening_interface="127.0.0.1", journal_pre_alloc_size_mb=1)
        (config,) = standalone_configs(plain, 1, directory)
        bookie = make_bookie(thread.reactor, config)
        thread.wait(bookie.start, 30)
        text = b"".join(bookie.admin.metrics()) + render(process_registry())
        thread.wait(bookie.stop, 30)
    return list(parse(text.decode()))


def parse(text: str) -> Iterator[Exported]:
    """The metrics of an exposition."""
    for part in re.split(r"^# TYPE ", text, flags=re.M)[1:]:
        head, *samples = part.splitlines()
        name, kind = head.split()
        labels = dict.fromkeys(label for sample in samples for label in re.findall(r"(\w+)=\"", sample))
        yield Exported(name, kind, tuple(label for label in labels if label not in ("quantile", "le")))


def write_reference(path: Path, apache: str) -> None:
    """Write a table for each group.

    :param apache: what Apache's bookie exports.
    """
    theirs = {metric.name for metric in parse(apache)}
    groups: dict[str, list[Exported]] = {title: [] for title in _GROUPS.values()}
    for metric in sorted(exported(), key=lambda found: found.name):
        groups[next(title for prefix, title in _GROUPS.items() if metric.name.startswith(prefix))].append(metric)
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(_lines(groups, theirs)))


def _lines(groups: Mapping[str, list[Exported]], theirs: set[str]) -> Iterator[str]:
    for title, metrics in groups.items():
        yield from ("", f".. list-table:: {title}", "   :header-rows: 1", "   :widths: 60 15 15 10", "")
        yield from _row("name", "type", "labels", "Apache's")
        for metric in metrics:
            known = "yes" if metric.name in theirs else ""
            yield from _row(f"``{metric.name}``", metric.kind, ", ".join(metric.labels), known)


def _row(first: str, *cells: str) -> Iterator[str]:
    yield f"   * - {first}"
    for cell in cells:
        yield f"     - {cell}".rstrip()
