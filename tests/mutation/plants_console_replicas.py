"""Plants in what the console says of replicas, of ledgers that lack some, and of their repair."""

from .plant import Plant

_REPLICAS, _COMPARED = "http/console/replicas.py", ["tests.http.console.test_replicas"]

PLANTS = (
    Plant(
        "without a majority, one of the replicas is right", _REPLICAS,
        "2 * alike[whole.content] <= len(valid)", "False", _COMPARED, where="compared",
    ),
    Plant(
        "a majority without a checksum is right", _REPLICAS,
        "digest is DigestType.DUMMY and len(alike) > 1", "False", _COMPARED, where="compared",
    ),
    Plant(
        "an entry without a checksum has a valid digest", _REPLICAS,
        'row["verdict"] == _OK', "False", _COMPARED, where="compared",
    ),
    Plant(
        "the field of a header that differs is not named", _REPLICAS,
        "parts += [name for name, one, other in fields if one != other]", "pass", _COMPARED, where="_difference",
    ),
)  # fmt: skip
