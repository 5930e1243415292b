"""Keys of Apache's ``bk_server.conf`` that have no effect here.

They configure parts that this bookie does not have or implements differently, such as thread pools, direct memory, and
the RocksDB and interleaved storages.  So a configuration file of Apache's bookie can be used: these keys are only noted
in the log.  Any other unknown key causes a warning.

Exception: if a key demands encryption, authentication or authorisation that this process does not provide, the process
does not start.
"""

from collections.abc import Mapping

_OFF = frozenset({"", "null", "none", "false", "no", "off", "f", "n"})
_ABSENT = frozenset({"", "null", "none"})

PROTECTION_KEYS: Mapping[str, frozenset[str]] = {
    "bookieTLSEnabled": _OFF,
    **dict.fromkeys(
        """
        authorizedRoles bookieAuthProviderFactoryClass certificatePath clientAuthProviderFactoryClass
        jaasBookieSectionName jaasClientAllowedIds permittedStartupUsers saslJaasBookieSectionName
        saslJaasClientAllowedIds saslJaasClientSectionName
        """.split(),  # noqa: SIM905
        _ABSENT,
    ),
}
"""Keys that demand encryption, authentication or authorisation; for each key, the values that switch it off.

The values are in lower case.  If a configuration class has a field for such a key, the field's own check is used
instead.
"""

_NO_AUTHENTICATION = "AuthenticationDisabledAuthProviderFactory"
"""The end of the name of Apache's class that accepts every client without authentication."""

UNUSED_PREFIXES = (
    "dbStorage_rocksDB_", "dbStorage_directIOEntryLoggerTotal", "dbStorage_directIOEntryLoggerRead",
    "prometheusStatsLatency", "codahale",
)  # fmt: skip

UNUSED_KEYS = frozenset(
    """
    allocatorExitOnOutOfMemory allocatorLeakDetectionPolicy allocatorOutOfMemoryPolicy
    allocatorPoolingConcurrency allocatorPoolingPolicy
    allowEphemeralPorts allowMultipleDirsUnderSameDiskPartition
    allowShadedLedgerManagerFactoryClass
    bootstrapConfig byteBufAllocatorSizeInitial byteBufAllocatorSizeMax byteBufAllocatorSizeMin
    closeChannelOnResponseTimeout compactionMaxOutstandingRequests
    dataIntegrityChecking dataIntegrityStampMissingCookies
    dbStorage_directIOEntryLoggerMaxFdCacheTimeSeconds
    dbStorage_readAheadCacheBatchBytesSize dbStorage_readAheadCacheBatchSize defaultRocksdbConf
    desiredNumZonesPerWriteQuorum disableServerSocketBind
    dlog.bkcAckQuorumSize dlog.bkcEnsembleSize dlog.bkcWriteQuorumSize enableBusyWait enableHealthCheck
    enableLocalTransport enforceMinNumFaultDomainsForWrite enforceStrictZoneawarePlacement entryFormatterClass
    enableTaskExecutionStats ensemblePlacementPolicy entryLocationCompactionInterval entryLocationRocksdbConf
    entryLogFilePreallocationEnabled entrylogMapAccessExpiryTimeInSeconds
    entryLogPerLedgerCounterLimitsMultFactor entryLogPerLedgerEnabled
    extraServerComponents fileInfoCacheInitialCapacity fileInfoFormatVersionToWrite fileInfoMaxIdleTime
    flushEntrylogBytes gcEntryLogMetadataCacheEnabled gcEntryLogMetadataCachePath
    gcOverreplicatedLedgerMaxConcurrentRequests
    httpServerClass ignoreExtraServerComponentsStartupFailures
    journalAdaptiveGroupWrites journalBufferedEntriesThreshold journalBufferedWritesThreshold
    journalChannelProvider journalFlushWhenQueueEmpty journalFormatVersionToWrite journalRemoveFromPageCache
    journalWriteBufferSizeKB ledgerIdFormatterClass ledgerManagerFactoryClass
    ledgerManagerFactoryDisableClassCheck ledgerManagerType ledgerMetadataRocksdbConf ledgerMetadataVersion
    limitStatsLogging localConsistencyCheckOnStartup localScrubInterval localScrubRateLimit
    maximumNumberOfActiveEntryLogs
    maxOperationNumbersInSingleRocksdbWriteBatch
    metastoreImplClass metastoreMaxEntriesPerScan minNumZonesPerWriteQuorum minUsableSizeForIndexFileCreation
    networkTopologyScriptFileName numAddWorkerThreads numHighPriorityWorkerThreads numJournalCallbackThreads
    numLongPollWorkerThreads numOfMemtableFlushThreads openFileLimit
    pageLimit pageSize readBufferSizeBytes
    readWorkerThreadsThrottlingEnabled registrationManagerClass
    reorderReadSequenceEnabled reppDnsResolverClass requestTimerNumTicks requestTimerTickDurationMs
    sanityCheckMetricsEnabled serverNumAcceptorThreads serverNumIOThreads serverSockKeepalive serverSockLinger
    serverTcpKeepCnt serverTcpKeepIdle serverTcpKeepIntvl serverTcpLinger serverWriteBufferHighWaterMark
    serverWriteBufferLowWaterMark shadedLedgerManagerFactoryClassPrefix skipListArenaChunkSize
    skipListArenaMaxAllocSize skipListSizeLimit
    skipReplayJournalInvalidRecord sortedLedgerStorageEnabled
    storage.cluster.controller.schedule.interval.ms storage.range.store.dirs
    storage.serve.readonly.tables storageserver.grpc.port storeSystemTimeAsLedgerCreationTime
    useTransactionalCompaction verifyMetadataOnGC
    stickyReadSEnabled tlsProvider useV2WireProtocol writeBufferSizeBytes zkRequestRateLimit
    """.split()  # noqa: SIM905
)


def is_unused(key: str) -> bool:
    """Test whether ``key`` is a key of Apache's bookie that has no effect here."""
    return key in UNUSED_KEYS or key in PROTECTION_KEYS or key.startswith(UNUSED_PREFIXES)


def asks_for_protection(key: str, value: str) -> bool:
    """Test whether a setting demands encryption, authentication or authorisation.

    :param key: the key of the setting.
    :param value: the value as text; a value that switches the protection off demands nothing.
    """
    off = PROTECTION_KEYS.get(key)
    return off is not None and value.strip().lower() not in off and not value.strip().endswith(_NO_AUTHENTICATION)
