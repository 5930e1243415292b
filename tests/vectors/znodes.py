"""Everything Apache BookKeeper's tools stored in ZooKeeper, in numbered steps, and ``VERSION`` files."""

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import attrs

_FOLDER = Path(__file__).with_name("metadata")


@attrs.frozen
class Znode:
    """One node.

    :ivar raw: what the capture says of it: ``decoded``, ``text``, ``java``, ``ledgerId``.
    """

    step: str
    path: str
    data: bytes
    raw: dict[str, Any]

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


@lru_cache(maxsize=1)
def znodes() -> tuple[Znode, ...]:
    """All nodes that hold data."""
    found = []
    for file in sorted(_FOLDER.glob("[0-9]*.json")):
        step = json.loads(file.read_text())
        found += [Znode(step["name"], z["path"], bytes.fromhex(z["data"]), z) for z in step["znodes"] if z["data"]]
    return tuple(found)


def under(part: str) -> list[Znode]:
    """Nodes whose path holds ``part``."""
    return [node for node in znodes() if part in node.path]


@lru_cache(maxsize=1)
def version_files() -> dict[str, bytes]:
    """``VERSION`` files of bookies by path."""
    texts: dict[str, str] = json.loads((_FOLDER / "version-files.json").read_text())
    return {path: text.encode("ascii") for path, text in texts.items()}
