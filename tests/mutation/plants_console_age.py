"""Plants in how old what the console shows may be, and in what it says is unknown."""

from .plant import Plant

_CLUSTER, _SURVEYED = "http/console/cluster_parts.py", ["tests.http.console.test_cluster_parts"]

PLANTS = (
    Plant(
        "marks are not counted before all of their ledgers are read", _CLUSTER,
        "await within(self._clock, DETAILS_SECONDS, found.read(marked[:MOST_LOOKED_AT], MOST_MARKS))",
        "await found.read(marked[:MOST_LOOKED_AT], MOST_MARKS)", _SURVEYED, where="ClusterParts.repair",
    ),
    Plant(
        "no bookie is shown before all ledgers are read", _CLUSTER,
        "looked.addTimeout(DETAILS_SECONDS, self._clock, lambda *_: frozenset())", "pass", _SURVEYED,
        where="ClusterParts.cluster",
    ),
    Plant(
        "a lock without a mark is a ledger that waits", _CLUSTER,
        "{each: found.locks[each] for each in found.locks.keys() & set(marked)}", "found.locks", _SURVEYED,
        where="ClusterParts.repair",
    ),
)
