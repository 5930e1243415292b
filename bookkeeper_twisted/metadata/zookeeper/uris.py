"""Metadata service URIs of clusters on ZooKeeper: ``zk+<layout>://host:port;host:port/root``."""

import re

import attrs

from ...errors import InvalidMetadataUriError
from .layouts import FLAT, HIERARCHICAL, LONG_HIERARCHICAL

SCHEME = "zk"
_LAYOUTS = {
    "": None,
    "null": None,
    "flat": FLAT,
    "hierarchical": HIERARCHICAL,
    "longhierarchical": LONG_HIERARCHICAL,
}
_HOST = re.compile(r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::([0-9]{1,5}))?")
_ROOT = re.compile(r"(?:/[^/\s]+)+")


@attrs.frozen
class ZooKeeperUri:
    """The parts of a metadata service URI of ZooKeeper.

    :ivar hosts: ``host:port`` of the servers, separated by commas.
    :ivar root: path of the cluster's root.
    :ivar factory: Java class of the layout that is asked for, None for whatever is stored.
    """

    hosts: str
    root: str
    factory: str | None

    @classmethod
    def parse(cls, uri: str) -> "ZooKeeperUri":
        """Take a ``uri`` apart: ``zk+hierarchical://host:port;host:port/root``.

        :raises InvalidMetadataUriError: the text says what is wrong.
        """
        scheme, separator, rest = uri.partition("://")
        driver, _, layout = scheme.lower().partition("+")
        if driver != SCHEME or not separator:
            raise InvalidMetadataUriError(f"{uri!r} is not zk+hierarchical://host:port/root")
        if layout not in _LAYOUTS:
            known = ", ".join(f"zk+{name}" if name else "zk" for name in _LAYOUTS)
            raise InvalidMetadataUriError(f"{uri!r}: unknown ledger manager type {layout!r}; known are {known}")
        authority, slash, path = rest.partition("/")
        hosts = authority.replace(";", ",").split(",")
        for host in hosts:
            _check_host(uri, host)
        root = slash + path
        if not _ROOT.fullmatch(root) or {".", ".."} & set(root.split("/")):
            raise InvalidMetadataUriError(f"{uri!r}: {root!r} is not the path of a root, as /ledgers is")
        return cls(",".join(hosts), root, _LAYOUTS[layout])


def _check_host(uri: str, host: str) -> None:
    found = _HOST.fullmatch(host)
    if found is None or not 0 < int(found[1] or 1) < 1 << 16:
        reason = "credentials belong in zkAuth" if "@" in uri else f"{host!r} is not host:port"
        raise InvalidMetadataUriError(f"{uri!r}: {reason}")
