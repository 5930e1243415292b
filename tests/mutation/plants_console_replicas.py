"""Plants in what the console says of replicas, of ledgers that lack some, and of their repair."""

from .plant import Plant

_REPLICAS, _COMPARED = "http/console/replicas.py", ["tests.http.console.test_replicas"]
_MARKED, _SURVEYED = "http/console/marked_ledgers.py", ["tests.http.console.test_cluster_parts"]
_LEDGERS, _SEARCHED = "http/console/ledger_pages.py", ["tests.http.console.test_ledger_pages"]

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
    Plant(
        "a damaged replica is left", _MARKED, "self._registered - set(mark.replicas)", "self._registered",
        _SURVEYED, where="MarkedLedgers._read_replicas",
    ),
    Plant(
        "an entry that no bookie has is available", _MARKED, '"no bookie has ledger " in lock', "False",
        _SURVEYED, where="says_lost",
    ),
    Plant(
        "ledgers are not searched for damaged replicas", _LEDGERS,
        "registered - missing.get(ledger_id, frozenset())", "registered", _SEARCHED, where="LedgerPages._ledgers",
    ),
    Plant(
        "of many marks only the first are looked at", _LEDGERS, "len(marked) > SCANNED", "False", _SEARCHED,
        where="LedgerPages._missing",
    ),
)  # fmt: skip
