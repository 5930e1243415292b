"""JSON records of Apache Pulsar's metadata driver: the elected auditor, and the racks of bookies."""

import json
from typing import Any

from ...errors import CodecError


def encode_leader(bookie_id: str) -> bytes:
    """Encode the record with the id of the elected auditor, in clusters with Pulsar's metadata driver.

    :param bookie_id: id of the bookie that is the auditor.
    """
    return json.dumps(bookie_id).encode("ascii")


def decode_leader(data: bytes) -> str:
    """Return the bookie id of the elected auditor.

    :raises CodecError: the bytes are not the record of a leader.
    """
    leader = _parsed("auditor leader", data)
    if not isinstance(leader, str):
        raise CodecError(f"auditor leader: expected a bookie id in quotes, not {leader!r:.60}")
    return leader


def decode_racks(data: bytes) -> dict[str, str]:
    """Return the rack of each bookie in Pulsar's rack configuration, as Pulsar's brokers understand it.

    The record maps groups to bookies, and each bookie to its ``rack`` and ``hostname``.  Groups and host names are
    ignored.  A rack may lack its leading slash.  Bookies without a rack, or with the rack ``/``, are left out.

    :raises CodecError: the bytes are not a rack configuration.
    """
    racks: dict[str, str] = {}
    for group, bookies in _fields("rack configuration", _parsed("rack configuration", data)).items():
        for bookie_id, info in _fields(f"rack configuration, group {group!r}", bookies).items():
            rack = _fields(f"rack configuration, bookie {bookie_id!r}", info).get("rack")
            if rack is not None and not isinstance(rack, str):
                raise CodecError(f"rack configuration, bookie {bookie_id!r}: expected a path as rack, not {rack!r:.60}")
            path = (rack or "").strip()
            if path not in ("", "/"):
                racks[bookie_id] = path if path.startswith("/") else f"/{path}"
    return racks


def _parsed(what: str, data: bytes) -> object:
    try:
        parsed: object = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise CodecError(f"{what}: not JSON: {error}") from error
    return parsed


def _fields(what: str, value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise CodecError(f"{what}: expected an object of JSON, not {value!r:.60}")
    return value
