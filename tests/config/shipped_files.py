"""What the configuration files set that Apache BookKeeper and Apache Pulsar ship: keys and values, nothing else."""

BOOKKEEPER: dict[str, str] = {
    "bookiePort": "3181", "extraServerComponents": "", "httpServerEnabled": "false", "httpServerPort": "8080",
    "httpServerHost": "0.0.0.0", "httpServerClass": "org.apache.bookkeeper.http.vertx.VertxHttpServer",
    "httpServerTlsEnable": "false", "httpServerKeyStorePath": "", "httpServerKeyStorePassword": "",
    "httpServerTrustStorePath": "", "httpServerTrustStorePassword": "", "journalDirectories": "/tmp/bk-txn",
    "ledgerDirectories": "/tmp/bk-data", "gcEntryLogMetadataCacheEnabled": "false",
    "metadataServiceUri": "zk+hierarchical://localhost:2181/ledgers", "zkServers": "localhost:2181",
    "zkTimeout": "10000", "zkEnableSecurity": "false",
    "statsProviderClass": "org.apache.bookkeeper.stats.prometheus.PrometheusMetricsProvider",
    "stickyReadSEnabled": "true", "reorderReadSequenceEnabled": "true", "storageserver.grpc.port": "4181",
    "dlog.bkcEnsembleSize": "3", "dlog.bkcWriteQuorumSize": "2", "dlog.bkcAckQuorumSize": "2",
    "storage.range.store.dirs": "data/bookkeeper/ranges", "storage.serve.readonly.tables": "false",
    "storage.cluster.controller.schedule.interval.ms": "30000",
}  # fmt: skip
"""``conf/bk_server.conf`` of BookKeeper 4.18."""

PULSAR: dict[str, str] = {
    "bookiePort": "3181", "journalDirectory": "data/bookkeeper/journal",
    "minUsableSizeForIndexFileCreation": "1073741824", "advertisedAddress": "", "allowLoopback": "false",
    "bookieDeathWatchInterval": "1000", "flushInterval": "60000", "useHostNameAsBookieID": "false",
    "gcWaitTime": "900000", "gcOverreplicatedLedgerWaitTime": "86400000", "numAddWorkerThreads": "0",
    "numReadWorkerThreads": "8", "numHighPriorityWorkerThreads": "8", "maxPendingReadRequestsPerThread": "2500",
    "maxPendingAddRequestsPerThread": "10000", "readWorkerThreadsThrottlingEnabled": "true",
    "enableBusyWait": "false", "forceAllowCompaction": "true", "tlsCertFilesRefreshDurationSeconds": "300",
    "auditorPeriodicBookieCheckInterval": "86400", "rereplicationEntryBatchSize": "100",
    "stickyReadSEnabled": "true", "reorderReadSequenceEnabled": "true",
    "openLedgerRereplicationGracePeriod": "30000", "autoRecoveryDaemonEnabled": "true",
    "lostBookieRecoveryDelay": "0", "useV2WireProtocol": "true",
    "reppDnsResolverClass": "org.apache.pulsar.zookeeper.ZkBookieRackAffinityMapping", "serverTcpNoDelay": "true",
    "nettyMaxFrameSizeBytes": "5253120", "journalFormatVersionToWrite": "5", "journalMaxSizeMB": "2048",
    "journalMaxBackups": "5", "journalPreAllocSizeMB": "16", "journalWriteBufferSizeKB": "64",
    "journalRemoveFromPageCache": "true", "journalWriteData": "true", "journalSyncData": "true",
    "journalAdaptiveGroupWrites": "true", "journalMaxGroupWaitMSec": "1",
    "journalBufferedWritesThreshold": "524288", "numJournalCallbackThreads": "8", "journalAlignmentSize": "4096",
    "journalFlushWhenQueueEmpty": "false",
    "ledgerStorageClass": "org.apache.bookkeeper.bookie.storage.ldb.DbLedgerStorage",
    "ledgerDirectories": "data/bookkeeper/ledgers", "auditorPeriodicCheckInterval": "604800", "openFileLimit": "0",
    "fileInfoFormatVersionToWrite": "0", "pageLimit": "0", "zkLedgersRootPath": "/ledgers",
    "logSizeLimit": "1073741824", "entryLogFilePreallocationEnabled": "true", "flushEntrylogBytes": "33554432",
    "readBufferSizeBytes": "4096", "writeBufferSizeBytes": "65536", "compactionRate": "1000",
    "minorCompactionThreshold": "0.2", "minorCompactionInterval": "3600",
    "compactionMaxOutstandingRequests": "100000", "majorCompactionThreshold": "0.5",
    "majorCompactionInterval": "86400", "isThrottleByBytes": "false", "compactionRateByEntries": "1000",
    "compactionRateByBytes": "1000000",
    "statsProviderClass": "org.apache.bookkeeper.stats.prometheus.PrometheusMetricsProvider",
    "prometheusStatsHttpPort": "8000", "readOnlyModeEnabled": "true", "diskCheckInterval": "10000",
    "metadataServiceUri": "", "zkServers": "localhost:2181", "zkTimeout": "30000", "zkEnableSecurity": "false",
    "httpServerEnabled": "false", "httpServerPort": "8000",
    "httpServerClass": "org.apache.bookkeeper.http.vertx.VertxHttpServer", "dbStorage_writeCacheMaxSizeMb": "",
    "dbStorage_readAheadCacheMaxSizeMb": "", "dbStorage_readAheadCacheBatchSize": "1000",
    "dbStorage_rocksDB_blockCacheSize": "", "dbStorage_rocksDB_writeBufferSizeMB": "64",
    "dbStorage_rocksDB_sstSizeInMB": "64", "dbStorage_rocksDB_blockSize": "65536",
    "dbStorage_rocksDB_bloomFilterBitsPerKey": "10", "dbStorage_rocksDB_numLevels": "-1",
    "dbStorage_rocksDB_numFilesInLevel0": "4", "dbStorage_rocksDB_maxSizeInLevel1MB": "256",
}  # fmt: skip
"""``conf/bookkeeper.conf`` of Pulsar 4."""


def as_file(facts: dict[str, str]) -> str:
    """The text of a file that says the same."""
    return "".join(f"{key}={value}\n" for key, value in facts.items())
