"""Read the racks of bookies that Pulsar's tools store on ZooKeeper: in ``bookies``, beside the cluster's root."""

from collections.abc import Callable, Mapping

from twisted.logger import Logger

from ...codec.metadata_formats import decode_racks
from ...errors import CodecError


def racks_path(root: str) -> str:
    """Return the path of the node with the racks of a cluster.

    :param root: root path of the cluster; for ``/chroot/ledgers``, the racks are in ``/chroot/bookies``.
    """
    return root.rpartition("/")[0] + "/bookies"


class RackReader:
    """A listener for the data of the node with the racks: it decodes the data, and calls ``listener`` with the racks.

    If the data cannot be decoded, the error is logged, and ``listener`` is not called.  Only if this happens at the
    first read, ``listener`` is called with an empty mapping.

    :param path: path of the node, for the log.
    :param listener: called with the racks by bookie id; bookies without a rack are left out.
    """

    _log = Logger()

    def __init__(self, path: str, listener: Callable[[Mapping[str, str]], None]) -> None:
        self._path = path
        self._listener = listener
        self._has_read = False

    def __call__(self, data: bytes | None) -> None:
        """Decode the ``data`` of the node (None for a missing node), and call the listener with the racks."""
        racks: Mapping[str, str] = {}
        try:
            racks = decode_racks(data) if data else {}
        except CodecError as error:
            kept = "the racks read before remain" if self._has_read else "no bookie has a rack"
            self._log.warn("{path}: {error}; {kept}", path=self._path, error=error, kept=kept)
            if self._has_read:
                return
        else:
            self._log.info("{path} names the racks of {count} bookies", path=self._path, count=len(racks))
        self._has_read = True
        self._listener(racks)
