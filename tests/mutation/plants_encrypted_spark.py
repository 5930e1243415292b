"""Plants in Spark's work on encrypted ledgers."""

from .plant import Plant

_TASKS, _RESTORING = ["tests.spark.task.test_decryption"], ["tests.spark.sink.test_restoring.EncryptedLedgerTests"]
_DECRYPTION, _PARTITION = "spark/task/decryption.py", "spark/task/partition.py"

PLANTS = (
    Plant(
        "a read without the key begins its tasks", "spark/source/batch.py",
        "check_keys({n.ledger_id: n.metadata for n in ranges if n.count > 0}, self.cluster.keys)", "pass", _TASKS,
        where="Planner.partitions",
    ),
    Plant(
        "tasks return what bookies have stored", _PARTITION,
        "key_settings(client) if options.reading.decrypt else ()", "()", _TASKS, where="settings_of",
    ),
    Plant(
        "what was asked for as stored is decrypted", _PARTITION,
        "key_settings(client) if options.reading.decrypt else ()", "key_settings(client)", _TASKS, where="settings_of",
    ),
    Plant(
        "reads of ids need the key", "spark/source/batch.py",
        "reading.include_payload and reading.decrypt", "True", _TASKS, where="Planner.partitions",
    ),
    Plant(
        "a refused key does not name the option", _DECRYPTION,
        'f"{error.detail}, {_OPTION}"', "error.detail", _TASKS, where="_ciphers",
    ),
    Plant(
        "entries that do not decrypt are returned as they are", _DECRYPTION,
        "n in ciphers", "False", _TASKS, where="digesters_of",
    ),
    Plant(
        "a manifest of an encrypting sink is read without its key", "spark/driver/cluster.py",
        "ClusterView(driver, security_settings(config), key_settings(config))",
        "ClusterView(driver, security_settings(config))", _TASKS, where="connect",
    ),
    Plant(
        "an export needs the keys, and has payloads without encryption", "spark/pipelines/archive.py",
        '{"ledgers": ",".join(map(str, ledgers)), PASSWORD: password, "decrypt": "false"}',
        '{"ledgers": ",".join(map(str, ledgers)), PASSWORD: password}',
        ["tests.spark.test_secured.SecuredSparkTests.test_archive"], where="export",
    ),
    Plant(
        "an import encrypts what is encrypted already", "spark/sink/restoring.py",
        "return None", "return await super()._new_key({})", _RESTORING, where="ArchiveClient._new_key",
    ),
    Plant(
        "an import writes encrypted ledgers as an ordinary client", "spark/sink/restoring.py",
        "client_of(options, ArchiveClient.connect)", "client_of(options)", _RESTORING, where="restore_partition",
    ),
)  # fmt: skip
