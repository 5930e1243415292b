"""Runs of a comparison, kept as JSON: a long comparison is made in pieces, each short enough to be undisturbed."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from ..shared.machine import Machine
from .comparison import Runs
from .grouping import Grouping
from .syscalls import Counts

Groupings = Mapping[str, Mapping[str, Grouping]]
"""By wire protocol and way of replying."""


@attrs.frozen
class Circumstances:
    """Under which a piece was made.

    :ivar date: in ISO 8601.
    :ivar versions: by name of the software.
    :ivar load: the load average of the minute before it.
    :ivar stolen: share of the processors' time that the host took while it ran, 0 to 1.
    """

    command: str
    date: str
    scale: float
    generator: str
    machine: Machine
    versions: Mapping[str, str]
    load: float = 0.0
    stolen: float = 0.0


@attrs.frozen
class Piece:
    """What one run of the comparison found."""

    facts: Circumstances
    runs: Runs
    grouping: Groupings

    def keep(self, path: Path) -> None:
        """Writes every round to a file."""
        path.write_text(json.dumps(attrs.asdict(self), indent=1) + "\n")

    @classmethod
    def kept(cls, path: Path) -> "Piece":
        """What a file holds."""
        found: dict[str, Any] = json.loads(path.read_text())
        facts, grouping = found["facts"], found["grouping"]
        facts["machine"] = Machine(**facts["machine"])
        for ways in grouping.values():
            for name, each in ways.items():
                ways[name] = Grouping(each["rate"], each["cpu"], Counts(**each["counts"]))
        return cls(Circumstances(**facts), found["runs"], grouping)


def together(pieces: Sequence[Piece]) -> tuple[Runs, Groupings]:
    """What several pieces found; of a workload that was run in several, the last one counts."""
    runs = {name: each for piece in pieces for name, each in piece.runs.items()}
    return runs, {wire: ways for piece in pieces for wire, ways in piece.grouping.items()}
