"""Plants in what the console says of replicas, of ledgers that lack some, and of their repair."""

from .plant import Plant

_REPLICAS, _COMPARED = "http/console/replicas.py", ["tests.http.console.test_replicas"]
_MARKED = "http/console/marked_ledgers.py"
_SURVEYED = [f"tests.http.console.test_{name}" for name in ("cluster_parts", "repair", "reasons")]
_CLUSTER = "http/console/cluster_parts.py"
_LEDGERS, _SEARCHED = "http/console/ledger_pages.py", ["tests.http.console.test_ledger_pages"]

PLANTS = (
    Plant(
        "a replica that is the only one read is the same as others", "http/console/replicas.py",
        "same == 1 < len(rows)", "False", ["tests.http.console.test_replicas"], where="compared",
    ),
    Plant(
        "the newest ledgers are read one after the other", "http/console/cluster_parts.py",
        "for_each(await ledger_ids_from(admin, max(newest - NEWEST + 1, 0), NEWEST), read, _AT_ONCE)",
        "for_each(await ledger_ids_from(admin, max(newest - NEWEST + 1, 0), NEWEST), read, 1)",
        ["tests.http.console.test_cluster_parts"], where="newest_sizes",
    ),
    Plant(
        "a new ledger needs what all ledgers need", "http/console/diagnosis.py",
        "f'a new ledger needs {ensemble}, by the newest {NEWEST} ledgers'", "f'a new ledger needs {ensemble}'",
        ["tests.http.console.test_cluster_parts"], where="risks",
    ),
    Plant(
        "an open ledger has lost entries that nobody has written", "http/console/marked_ledgers.py",
        "is_lost or not may_be_unwritten(metadata, self._answering)", "True", ["tests.http.console.test_repair"],
        where="MarkedLedgers._read_replicas",
    ),
    Plant(
        "a closed ledger may have no entries", "http/console/replicas.py",
        "metadata.closed", "False", ["tests.http.console.test_replicas"], where="may_be_unwritten",
    ),
    Plant(
        "a ledger in a list does not name the bookies that it lacks", _LEDGERS,
        "metadata.bookies - registered", "set()", _SEARCHED, where="_row",
    ),
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
        'parts.append("length")', "pass", _COMPARED, where="_difference",
    ),
    Plant(
        "a replica that was written again with another LAC differs", _REPLICAS,
        "return self.data, self.length", "return self.data, self.lac, self.length", _COMPARED, where="Replica.content",
    ),
    Plant(
        "a replica with another length is the same", _REPLICAS,
        "return self.data, self.length", "return self.data, None", _COMPARED, where="Replica.content",
    ),
    Plant(
        "replicas with other LACs are not told of", _REPLICAS,
        "len(by_lac) < 2", "True", _COMPARED, where="_other_lacs",
    ),
    Plant(
        "a damaged replica is left", _MARKED, "self._answering - doubted(mark, metadata)", "self._answering",
        _SURVEYED, where="MarkedLedgers._read_replicas",
    ),
    Plant(
        "a marked ledger whose metadata cannot be decoded has no row", _MARKED,
        "(None, mark, None) if ledger_id in self._undecoded.ids else None", "None", _SURVEYED,
        where="MarkedLedgers._read_replicas",
    ),
    Plant(
        "marked ledgers whose metadata cannot be decoded are judged", _MARKED,
        'undecoded_text(ids, "cannot be judged") if ids else ""', '""', _SURVEYED, where="MarkedLedgers.unjudged",
    ),
    Plant(
        "an entry that no bookie has is available", _MARKED, '"no bookie has ledger " in lock', "False",
        _SURVEYED, where="says_lost",
    ),
    Plant(
        "the console does not know what its own worker does", _MARKED, 'texts.setdefault(ledger_id, "this process")',
        'texts.get(ledger_id, "h")', _SURVEYED, where="present_locks",
    ),
    Plant(
        "a reason is not known before it is in the lock", _MARKED, "job.reason and not reason_of(holder)", "False",
        _SURVEYED, where="present_locks",
    ),
    Plant(
        "what the last attempt found is forgotten", _CLUSTER,
        "{each: said[each] for each in said.keys() & set(marked)}", "{}", _SURVEYED, where="ClusterParts.repair",
    ),
    Plant(
        "what an attempt found without a bookie holds with it", _CLUSTER, "self._said.clear()", "pass", _SURVEYED,
        where="ClusterParts.repair",
    ),
    Plant(
        "workers that are at work are not told of while others wait", "http/console/diagnosis.py",
        "obstacles and elsewhere", "False",
        _SURVEYED, where="repair_limit",
    ),
    Plant(
        "a marked ledger is not marked yet", _LEDGERS, "if mark is None: ...", "if True: ...", _SEARCHED,
        where="LedgerPages._ledger",
    ),
    Plant(
        "the page of a ledger tells times that are past", _LEDGERS,
        "present_locks(locks, self._jobs(), self._seconds()).get(ledger_id)", "locks.get(ledger_id)", _SEARCHED,
        where="LedgerPages._mark",
    ),
    Plant(
        "a ledger that nobody has marked is whole", _MARKED, "replicas >= write_quorum", "True", _SEARCHED,
        where="unmarked_reason",
    ),
    Plant(
        "a replica of a bookie that does not answer is left", _MARKED, "registered - silent", "registered",
        _SURVEYED, where="MarkedLedgers.__init__",
    ),
    Plant(
        "ledgers are not searched for bookies that do not answer", _LEDGERS,
        "registered - await self._silent(admin, registered)", "registered", _SEARCHED, where="LedgerPages._ledgers",
    ),
    Plant(
        "the page of a ledger takes a silent bookie for a live one", _LEDGERS, "(writable | read_only) - silent",
        "writable | read_only", _SEARCHED, where="LedgerPages._ledger",
    ),
    Plant(
        "a bookie that did not answer long ago does not answer", "http/console/bookie_answers.py",
        "self._clock.seconds() - self._asked > KNOWN_SECONDS", "False", ["tests.http.console.test_bookie_answers"],
        where="BookieAnswers.silent",
    ),
    Plant(
        "ledgers are not searched for damaged replicas", _LEDGERS,
        "answering - missing.get(ledger_id, frozenset())", "answering", _SEARCHED, where="LedgerPages._ledgers",
    ),
    Plant(
        "what marked bookies may have counts as lost", _LEDGERS, "live_replicas(metadata, registered) - replicas", "0",
        _SEARCHED, where="_row",
    ),
    Plant(
        "a ledger that a worker has found lost may be there", _LEDGERS, "stored = present = frozenset()",
        "present = frozenset()", _SEARCHED, where="LedgerPages._ledger",
    ),
    Plant(
        "very many marks are listed for each page of a search", _LEDGERS, "take(listing, LISTED + 1)",
        "take(listing, SCANNED + 1)", _SEARCHED, where="LedgerPages._missing",
    ),
    Plant(
        "of many marks only the first are looked at", _LEDGERS, "len(marked) > LISTED", "False", _SEARCHED,
        where="LedgerPages._missing",
    ),
    Plant(
        "while autorecovery is off, no mark means that all is well", _MARKED, "if not enabled: ...", "", _SURVEYED,
        where="marks_alone",
    ),
    Plant(
        "ledgers that audits leave out are not told", _CLUSTER, "undecoded.ids", "()", _SEARCHED,
        where="ClusterParts._look",
    ),
    Plant(
        "replicas count as left although the mark cannot be decoded", _MARKED, "mark.problem", "False", _SURVEYED,
        where="doubted",
    ),
    Plant(
        "a bookie that marks beyond the listed ones name counts as one without", _CLUSTER, "not is_more", "True",
        ["tests.http.console.test_repair"], where="ClusterParts.repair",
    ),
    Plant(
        "a lost bookie whose ledgers nobody has marked is not told of", _CLUSTER, "each not in named", "False",
        _SURVEYED, where="ClusterParts._without_mark",
    ),
    Plant(
        "the page of a ledger waits for an auditor that is switched off", _MARKED, "if not enabled: ...", "", _SEARCHED,
        where="unmarked_reason",
    ),
)  # fmt: skip
