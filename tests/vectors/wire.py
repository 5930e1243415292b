"""Conversations between Apache BookKeeper's client (or hand-made requests) and its bookie.

A scenario is one file of ``wire.tar.xz``: connections, and frames in time order with what they mean.
"""

import json
import re
import tarfile
from functools import lru_cache
from pathlib import Path
from typing import Any

import attrs

ARCHIVE = Path(__file__).with_name("wire.tar.xz")

REQUEST, RESPONSE = "c2s", "s2c"


@attrs.frozen
class Frame:
    """One frame as captured.

    :ivar op: name of the operation, ``raw`` and ``TLS`` for what is no frame.
    :ivar meaning: its fields as text.
    :ivar data: all bytes, the length word included.
    """

    scenario: str
    conn: int
    direction: str
    op: str
    meaning: str
    data: bytes

    @property
    def wire(self) -> int:
        """3 if the text is that of a protobuf message, which has a txnId."""
        return 3 if self.meaning.startswith("txnId") else 2

    def number(self, name: str) -> int | None:
        """The first number in the text that follows a word, as in ``ledgerId 7``."""
        found = re.search(rf"(?<![A-Za-z]){name} (-?\d+)", self.meaning)
        return int(found.group(1)) if found else None

    def __str__(self) -> str:
        return f"{self.scenario}, connection {self.conn}, {self.direction} {self.op}: {self.meaning}"


@attrs.frozen
class Scenario:
    """:ivar master_keys: of all ledgers named in the file."""

    name: str
    notes: str
    hand_made: bool
    formats: dict[int, str]
    closed_by_bookie: frozenset[int]
    frames: tuple[Frame, ...]
    raw: dict[str, Any]

    def stream(self, conn: int, direction: str) -> list[Frame]:
        """The frames of one direction of a connection."""
        return [f for f in self.frames if f.conn == conn and f.direction == direction]


@lru_cache(maxsize=1)
def scenarios() -> tuple[Scenario, ...]:
    """All of them, named ``v2/...`` and ``v3/...``, in the order of their names."""
    with tarfile.open(ARCHIVE) as archive:
        members = sorted((m for m in archive if m.isfile()), key=lambda member: member.name)
        texts = {m.name: archive.extractfile(m).read() for m in members}  # type: ignore[union-attr]
    return tuple(_scenario(name.removeprefix("wire/").removesuffix(".json"), json.loads(texts[name])) for name in texts)


def _scenario(name: str, raw: dict[str, Any]) -> Scenario:
    frames = tuple(
        Frame(name, f["conn"], f["dir"], f["op"], f["meaning"], bytes.fromhex(f["hex"])) for f in raw["frames"]
    )
    connections = raw["connections"]
    return Scenario(
        name,
        raw["notes"],
        raw["source"].startswith("hand-made"),
        {c["conn"]: c["frame_format"] for c in connections},
        frozenset(c["conn"] for c in connections if c["first_close"] == "RST by bookie"),
        frames,
        raw,
    )
