"""The captured trees of whole clusters, and the same form for trees of our own."""

import json
from pathlib import Path
from typing import Any

import attrs

_FOLDER = Path(__file__).with_name("metadata")


@attrs.frozen
class DumpedNode:
    """A node as it was captured."""

    path: str
    ephemeral: bool
    version: int
    cversion: int
    data: bytes


@attrs.frozen
class Dump:
    """One captured tree.

    :ivar root: of the cluster.
    :ivar ledgers: ledger id to the path of its node.
    """

    root: str
    nodes: tuple[DumpedNode, ...]
    ledgers: dict[int, str]

    def data(self, name: str) -> bytes:
        """What a node below the root holds."""
        return next(node.data for node in self.nodes if node.path == f"{self.root}/{name}")

    def below(self, name: str) -> dict[str, bytes]:
        """Names and data of the nodes right below another that hold data."""
        prefix = f"{self.root}/{name}/"
        return {
            node.path.removeprefix(prefix): node.data
            for node in self.nodes
            if node.path.startswith(prefix) and node.data
        }


def load_dump(name: str) -> Dump:
    """A captured tree."""
    znodes: list[dict[str, Any]] = json.loads((_FOLDER / f"{name}.json").read_text())["znodes"]
    nodes = tuple(
        DumpedNode(z["path"], z["ephemeral"], z["version"], z["cversion"], bytes.fromhex(z["data"])) for z in znodes
    )
    ledgers = {z["ledgerId"]: z["path"] for z in znodes if "ledgerId" in z}
    return Dump(nodes[0].path, nodes, ledgers)
