"""Plants in underreplicated marks that cannot be decoded or listed."""

from .plant import Plant

_MARKED = "http/console/marked_ledgers.py"
_ZOOKEEPER = "metadata/zookeeper/underreplication.py"
_REASONS = ["tests.http.console.test_reasons"]
_STORED = ["tests.metadata.test_stored_marks", "tests.metadata.zookeeper.test_underreplication"]
_REMOVAL = ["tests.metadata.test_mark_removal"]

PLANTS = (
    Plant(
        "marks that are new name no bookie", "http/console/cluster_parts.py", "count == n_marks", "True",
        ["tests.http.console.test_repair"], where="ClusterParts._without_mark",
    ),
    Plant(
        "one ledger that may not be read ends all audits", "metadata/zookeeper/ledgers/ledgers.py",
        "raise MetadataSerializationError(f'ledger {ledger_id} may not be read by this client: {error}') from error",
        "raise", ["tests.metadata.zookeeper.ledgers.test_ledgers"], where="ZooKeeperLedgers._read",
    ),
    Plant(
        "a mark that cannot be decoded ends the audit", "codec/metadata_formats/underreplication.py",
        "return UnderreplicatedLedger(problem=str(error), stored=data)", "raise",
        ["tests.autorecovery.auditing.test_auditor"], where="restore_underreplicated",
    ),
    Plant(
        "a mark that cannot be decoded is replaced by the newest names", "model.py",
        "if self.problem:\n    return self", "", _STORED, where="UnderreplicatedLedger.with_replicas",
    ),
    Plant(
        "each read of a mark that cannot be decoded is a line", "metadata/stored_marks.py",
        "ledger_id not in self._logged", "True", _STORED, where="StoredMarks.decode",
    ),
    Plant(
        "a bookie in a mark that cannot be decoded may be lost at its removal", "metadata/mark_removal.py",
        "bookies if mark.value.problem else mark.value.replicas", "mark.value.replicas", _REMOVAL, where="remove_mark",
    ),
    Plant(
        "a mark that cannot be decoded stays so", "autorecovery/replication/worker.py",
        "lacking.issuperset(names.replicas) and not names.problem", "lacking.issuperset(names.replicas)",
        ["tests.autorecovery.replication.test_worker"], where="ReplicationWorker._narrow_mark",
    ),
    Plant(
        "a check has found the ledger of a mark that cannot be decoded", _MARKED,
        "mark.problem", "False", _REASONS, where="mark_reason",
    ),
    Plant(
        "each listing logs the nodes that are no marks", _ZOOKEEPER, "stray not in self.strays", "True", _STORED,
        where="ZooKeeperUnderreplication._walk",
    ),
    Plant(
        "nodes that are no marks are named after they were removed", _ZOOKEEPER, "self.strays = frozenset(strays)",
        "pass", _STORED, where="ZooKeeperUnderreplication.marked_ledgers",
    ),
    Plant(
        "a node with an id that no ledger has ends the listing", _ZOOKEEPER,
        "(ledger_id := int(digits[1])) > MAX_LEDGER_ID", "(ledger_id := int(digits[1])) < 0", _STORED,
        where="ZooKeeperUnderreplication._marked_by",
    ),
    Plant(
        "a node in the place of another ledger is a mark", _ZOOKEEPER,
        'self._mark_path(ledger_id) == f"{path}/{name}"', "True", _STORED, where="ZooKeeperUnderreplication._marked_by",
    ),
    Plant(
        "marks that another client has made before a walk are missed", _ZOOKEEPER, "await self._znodes.sync(root)", "",
        _STORED, where="ZooKeeperUnderreplication.marked_ledgers",
    ),
    Plant(
        "a new session reads marks of before", _ZOOKEEPER, "self._znodes.session.zookeeper.session_id != session_id",
        "False", _STORED, where="ZooKeeperUnderreplication._walk",
    ),
    Plant(
        "each node of the marks takes two round trips", _ZOOKEEPER, "(await self._znodes.children(path))[0]",
        "await self._znodes.fresh_children(path)", _STORED, where="ZooKeeperUnderreplication._walk",
    ),
    Plant(
        "a lock that cannot be decoded hides the others", _ZOOKEEPER,
        """holders[int(digits[1])] = f"not known: the lock of ledger {int(digits[1])} cannot be decoded, {why}\"""",
        "raise", _STORED, where="ZooKeeperUnderreplication.locked_ledgers",
    ),
    Plant(
        "what a lock that cannot be decoded holds up names no ledger", _ZOOKEEPER, """str(error).replace(": ", ", ")""",
        "str(error)", _STORED, where="ZooKeeperUnderreplication.locked_ledgers",
    ),
    Plant(
        "marks that cannot be read hide the bookies", _MARKED,
        "return cls(unread=str(error) or type(error).__name__)", "raise", _REASONS, where="AutorecoveryFacts.read",
    ),
    Plant(
        "marks that cannot be read are none", "http/console/diagnosis.py",
        "if unread: ...", "if False: ...", _REASONS, where="_of_autorecovery",
    ),
)
