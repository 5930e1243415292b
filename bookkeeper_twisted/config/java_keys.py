"""Keys of Apache's ``bk_server.conf`` that mean nothing here.

They belong to parts this bookie does not have (thread pools, direct memory, the RocksDB and the
interleaved storage) or does differently.  A file written for Apache's bookie is taken as it is: these keys are
accepted and reported once as without effect; any other unknown key is a warning.
"""

UNUSED_PREFIXES = (
    "dbStorage_rocksDB_", "dbStorage_directIOEntryLoggerTotal", "dbStorage_directIOEntryLoggerRead", "prometheus",
    "tls", "codahale",
)  # fmt: skip

UNUSED_KEYS = frozenset(
    """
    allocatorLeakDetectionPolicy allocatorOutOfMemoryPolicy allocatorPoolingConcurrency allocatorPoolingPolicy
    allowEphemeralPorts allowMultipleDirsUnderSameDiskPartition auditorPeriodicBookieCheckInterval
    auditorPeriodicCheckInterval authProviders autoRecoveryDaemonEnabled bookieAuthProviderFactoryClass
    bookieDeathWatchInterval bootstrapConfig certificatePath clientAuthProviderFactoryClass
    closeChannelOnResponseTimeout compactionMaxOutstandingRequests compactionRate compactionRateByBytes
    compactionRateByEntries dataIntegrityChecking dataIntegrityStampMissingCookies
    dbStorage_readAheadCacheBatchBytesSize dbStorage_readAheadCacheBatchSize disableServerSocketBind
    dlog.bkcAckQuorumSize dlog.bkcEnsembleSize dlog.bkcWriteQuorumSize enableBusyWait enableLocalTransport
    enableStatistics enableTaskExecutionStats ensemblePlacementPolicy entryLocationCompactionInterval
    entryLogFilePreallocationEnabled entrylogMapAccessExpiryTimeInSeconds entryLogPerLedgerEnabled
    extraServerComponents fileInfoCacheInitialCapacity fileInfoFormatVersionToWrite fileInfoMaxIdleTime
    flushEntrylogBytes forceAllowCompaction gcEntryLogMetadataCacheEnabled gcEntryLogMetadataCachePath
    gcMetadataOpRateLimit gcOverreplicatedLedgerMaxConcurrentRequests gcOverreplicatedLedgerWaitTime gcWaitTime
    httpServerClass httpServerTlsEnable ignoreExtraServerComponentsStartupFailures isForceGCAllowWhenNoSpace
    isThrottleByBytes journalAdaptiveGroupWrites journalBufferedEntriesThreshold journalBufferedWritesThreshold
    journalChannelProvider journalFlushWhenQueueEmpty journalFormatVersionToWrite journalRemoveFromPageCache
    journalWriteBufferSizeKB ledgerManagerFactoryClass ledgerManagerType ledgerMetadataVersion
    ledgerStorageClass limitStatsLogging localConsistencyCheckOnStartup lostBookieRecoveryDelay
    majorCompactionInterval majorCompactionMaxTimeMillis majorCompactionThreshold maximumNumberOfActiveEntryLogs
    maxOperationNumbersInSingleRocksdbWriteBatch minorCompactionInterval minorCompactionMaxTimeMillis
    minorCompactionThreshold minUsableSizeForHighPriorityWrites minUsableSizeForIndexFileCreation
    networkTopologyScriptFileName numAddWorkerThreads numHighPriorityWorkerThreads numJournalCallbackThreads
    numLongPollWorkerThreads numOfMemtableFlushThreads openFileLimit openLedgerRereplicationGracePeriod
    pageLimit pageSize permittedStartupUsers persistBookieStatusEnabled readBufferSizeBytes
    readOnlyModeOnAnyDiskFullEnabled readWorkerThreadsThrottlingEnabled registrationManagerClass
    reppDnsResolverClass rereplicationEntryBatchSize rwRereplicateBackoffMs sanityCheckMetricsEnabled
    serverNumIOThreads serverSockKeepalive serverSockLinger serverWriteBufferHighWaterMark
    serverWriteBufferLowWaterMark skipListArenaChunkSize skipListArenaMaxAllocSize skipListSizeLimit
    skipReplayJournalInvalidRecord sortedLedgerStorageEnabled statsProviderClass storage.range.store.dirs
    storage.serve.readonly.tables storageserver.grpc.port storeSystemTimeAsLedgerUnderreplicatedMarkTime
    useTargetEntryLogSizeForGc useTransactionalCompaction verifyMetadataOnGC waitTimeoutOnResponseBackpressureMs
    writeBufferSizeBytes zkReplicationTaskRateLimit zkRequestRateLimit
    """.split()  # noqa: SIM905
)


def is_unused(key: str) -> bool:
    """Whether Apache's bookie knows the key and ours has no use for it."""
    return key in UNUSED_KEYS or key.startswith(UNUSED_PREFIXES)
