"""The metadata service URIs of clusters on ZooKeeper, in the forms of Apache BookKeeper and of Pulsar.

The forms are ``zk+<layout>://host:port;host:port/root`` and ``metadata-store:zk:host:port;host:port/chroot``.
"""

import re
from urllib.parse import urlsplit

import attrs

from ...errors import InvalidMetadataUriError
from .ledgers.layouts import FLAT, HIERARCHICAL, LONG_HIERARCHICAL

SCHEME = "zk"
PULSAR_SCHEME = "metadata-store"
_PULSAR_FORM = f"{PULSAR_SCHEME}:{SCHEME}:host:port;host:port/chroot"
_PULSAR_ROOT = "/ledgers"
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
    :ivar factory: Java class of the layout that the URI asks for; None if the URI accepts any stored layout.
    :ivar of_pulsar: whether the URI has Pulsar's form, for clusters that use Pulsar's metadata driver.
    """

    hosts: str
    root: str
    factory: str | None
    of_pulsar: bool = False

    @classmethod
    def parse(cls, uri: str) -> "ZooKeeperUri":
        """Parse a ``uri`` in the form of Apache BookKeeper or of Pulsar.

        The root of the cluster for ``metadata-store:zk:host:port;host:port/chroot`` is ``/chroot/ledgers``.

        :raises InvalidMetadataUriError: the URI is invalid; the text of the error says why.
        """
        if uri.partition(":")[0].lower() == PULSAR_SCHEME:
            return cls._parse_pulsar(uri)
        scheme, separator, rest = uri.partition("://")
        driver, _, layout = scheme.lower().partition("+")
        if driver != SCHEME or not separator:
            raise InvalidMetadataUriError(f"{uri!r} is not zk+hierarchical://host:port/root")
        if layout not in _LAYOUTS:
            known = ", ".join(f"zk+{name}" if name else "zk" for name in _LAYOUTS)
            raise InvalidMetadataUriError(f"{uri!r}: unknown ledger manager type {layout!r}; known are {known}")
        if "?" in rest:
            raise InvalidMetadataUriError(f"{uri!r}: parameters have no effect here; keys that begin with zk set them")
        authority, slash, path = rest.partition("/")
        hosts = _hosts(uri, authority)
        root = slash + path
        if not _is_path(root):
            raise InvalidMetadataUriError(f"{uri!r}: {root!r} is not the path of a root, as /ledgers is")
        return cls(hosts, root, _LAYOUTS[layout])

    @classmethod
    def _parse_pulsar(cls, uri: str) -> "ZooKeeperUri":
        """Parse a URI in Pulsar's form, in which a chroot follows the hosts; ``/`` alone stands for no chroot."""
        _, store, rest = (*uri.split(":", 2), "", "")[:3]
        if store.lower() != SCHEME:
            raise InvalidMetadataUriError(f"{uri!r} is not {_PULSAR_FORM}")
        if "?" in rest:
            raise InvalidMetadataUriError(f"{uri!r}: parameters have no effect here; sessionTimeoutMillis is zkTimeout")
        if rest.startswith("//"):
            raise InvalidMetadataUriError(f"{uri!r}: no slashes stand before the hosts in {_PULSAR_FORM}")
        authority, _, path = rest.partition("/")
        hosts = _hosts(uri, authority)
        chroot = f"/{path}" if path else ""
        if chroot and not _is_path(chroot):
            raise InvalidMetadataUriError(f"{uri!r}: {chroot!r} is not the path of a chroot")
        return cls(hosts, chroot + _PULSAR_ROOT, HIERARCHICAL, of_pulsar=True)


def root_of(uri: str) -> str:
    """Return the root path in a metadata service URI of any driver; empty if the URI names no root.

    :param uri: a valid URI.
    """
    if uri.partition(":")[0].partition("+")[0].lower() in (SCHEME, PULSAR_SCHEME):
        return ZooKeeperUri.parse(uri).root
    return urlsplit(uri).path


def _hosts(uri: str, authority: str) -> str:
    hosts = authority.replace(";", ",").split(",")
    for host in hosts:
        _check_host(uri, host)
    return ",".join(hosts)


def _is_path(path: str) -> bool:
    return _ROOT.fullmatch(path) is not None and not {".", ".."} & set(path.split("/"))


def _check_host(uri: str, host: str) -> None:
    found = _HOST.fullmatch(host)
    if found is None or not 0 < int(found[1] or 1) < 1 << 16:
        reason = "credentials belong in zkAuth" if "@" in uri else f"{host!r} is not host:port"
        raise InvalidMetadataUriError(f"{uri!r}: {reason}")
