"""Keys of Apache's ``bk_server.conf`` that have no effect here.

They belong to parts that this bookie does not have (thread pools, direct memory, the RocksDB and the
interleaved storage) or implements differently.  A file written for Apache's bookie is accepted unchanged: these keys
are reported once as without effect; any other unknown key is a warning.

Keys that demand protection are the exception: a process that does not have it does not start.
"""

from collections.abc import Mapping

_OFF = frozenset({"", "null", "none", "false", "no", "off", "f", "n"})
_ABSENT = frozenset({"", "null", "none"})

PROTECTION_KEYS: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(("httpServerTlsEnable", "bookieTLSEnabled"), _OFF),
    **dict.fromkeys(
        """
        authorizedRoles bookieAuthProviderFactoryClass certificatePath clientAuthProviderFactoryClass
        jaasBookieSectionName jaasClientAllowedIds permittedStartupUsers saslJaasBookieSectionName
        saslJaasClientAllowedIds saslJaasClientSectionName
        """.split(),  # noqa: SIM905
        _ABSENT,
    ),
}
"""Keys that ask for encryption, authentication or authorisation, and their values that do not, in lower case.

Where a configuration has a field for such a key, the field's own check takes the place of this one."""

_NO_AUTHENTICATION = "AuthenticationDisabledAuthProviderFactory"
"""End of the name of Apache's class that admits every peer."""

UNUSED_PREFIXES = (
    "dbStorage_rocksDB_", "dbStorage_directIOEntryLoggerTotal", "dbStorage_directIOEntryLoggerRead",
    "prometheusStatsLatency", "httpServerKeyStore", "httpServerTrustStore", "codahale",
)  # fmt: skip

UNUSED_KEYS = frozenset(
    """
    allocatorLeakDetectionPolicy allocatorOutOfMemoryPolicy allocatorPoolingConcurrency allocatorPoolingPolicy
    allowEphemeralPorts allowMultipleDirsUnderSameDiskPartition
    bootstrapConfig
    closeChannelOnResponseTimeout compactionMaxOutstandingRequests
    dataIntegrityChecking dataIntegrityStampMissingCookies
    dbStorage_readAheadCacheBatchBytesSize dbStorage_readAheadCacheBatchSize disableServerSocketBind
    dlog.bkcAckQuorumSize dlog.bkcEnsembleSize dlog.bkcWriteQuorumSize enableBusyWait enableLocalTransport
    enableTaskExecutionStats ensemblePlacementPolicy entryLocationCompactionInterval
    entryLogFilePreallocationEnabled entrylogMapAccessExpiryTimeInSeconds entryLogPerLedgerEnabled
    extraServerComponents fileInfoCacheInitialCapacity fileInfoFormatVersionToWrite fileInfoMaxIdleTime
    flushEntrylogBytes gcEntryLogMetadataCacheEnabled gcEntryLogMetadataCachePath
    gcOverreplicatedLedgerMaxConcurrentRequests
    httpServerClass ignoreExtraServerComponentsStartupFailures
    journalAdaptiveGroupWrites journalBufferedEntriesThreshold journalBufferedWritesThreshold
    journalChannelProvider journalFlushWhenQueueEmpty journalFormatVersionToWrite journalRemoveFromPageCache
    journalWriteBufferSizeKB ledgerManagerFactoryClass ledgerManagerType ledgerMetadataVersion
    limitStatsLogging localConsistencyCheckOnStartup
    maximumNumberOfActiveEntryLogs
    maxOperationNumbersInSingleRocksdbWriteBatch
    minUsableSizeForIndexFileCreation
    networkTopologyScriptFileName numAddWorkerThreads numHighPriorityWorkerThreads numJournalCallbackThreads
    numLongPollWorkerThreads numOfMemtableFlushThreads openFileLimit
    pageLimit pageSize readBufferSizeBytes
    readWorkerThreadsThrottlingEnabled registrationManagerClass
    reorderReadSequenceEnabled reppDnsResolverClass
    sanityCheckMetricsEnabled serverNumIOThreads serverSockKeepalive serverSockLinger serverWriteBufferHighWaterMark
    serverWriteBufferLowWaterMark skipListArenaChunkSize skipListArenaMaxAllocSize skipListSizeLimit
    skipReplayJournalInvalidRecord sortedLedgerStorageEnabled
    storage.cluster.controller.schedule.interval.ms storage.range.store.dirs
    storage.serve.readonly.tables storageserver.grpc.port
    useTransactionalCompaction verifyMetadataOnGC
    stickyReadSEnabled tlsProvider useV2WireProtocol writeBufferSizeBytes zkRequestRateLimit
    """.split()  # noqa: SIM905
)


def is_unused(key: str) -> bool:
    """Test whether ``key`` is a key of Apache's bookie that has no effect here."""
    return key in UNUSED_KEYS or key in PROTECTION_KEYS or key.startswith(UNUSED_PREFIXES)


def asks_for_protection(key: str, value: str) -> bool:
    """Test whether a setting demands encryption, authentication or authorisation.

    :param value: the text in the file; a value that switches the ``key`` off demands nothing.
    """
    off = PROTECTION_KEYS.get(key)
    return off is not None and value.strip().lower() not in off and not value.strip().endswith(_NO_AUTHENTICATION)
