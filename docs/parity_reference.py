"""Writes the lists of what Apache BookKeeper has and what is missing here, with the reasons."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.parity import reasons


def write_reference(path: Path) -> None:
    """Write definition lists of metrics, queries of dashboards, and configuration keys."""
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(_lines()))


def _lines() -> Iterator[str]:
    tables = {
        "Metrics": reasons.METRICS, "Queries of dashboards": reasons.DASHBOARDS, "Configuration keys": reasons.KEYS,
    }  # fmt: skip
    for title, found in tables.items():
        yield from ("", title, "-" * len(title), "")
        for reason, patterns in _by_reason(found).items():
            yield re.sub(r"\w*[_*][\w*]*", r"``\g<0>``", f"{reason[0].upper()}{reason[1:]}")
            yield f"   {', '.join(f'``{pattern}``' for pattern in patterns)}"
            yield ""


def _by_reason(found: Mapping[str, str]) -> Mapping[str, list[str]]:
    grouped: dict[str, list[str]] = {}
    for pattern, reason in found.items():
        grouped.setdefault(reason, []).append(pattern)
    return grouped
