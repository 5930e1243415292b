"""Why metrics and configuration keys of Apache's are missing here, by patterns of their names.

What differs in the verbs of the shell is said in ``docs/shell.rst``.
"""

from collections.abc import Mapping


def _by_name(reasons: Mapping[str, str]) -> dict[str, str]:
    """The reason of each pattern.

    :param reasons: patterns, separated by space, by reason.
    """
    return {pattern: reason for reason, patterns in reasons.items() for pattern in patterns.split()}


METRICS = _by_name(
    {
        "there is no Java virtual machine; process_* is there": "jvm_*",
        "requests to ZooKeeper are not measured":
            "bookie_bookie_zk_* bookie_bookie_watcher_state_* bookkeeper_client_zk_* bookkeeper_client_watcher_state_*",
        "SortedLedgerStorage's name; the number is under DbLedgerStorage's, bookie_* without gc": "bookie_gc_*",
        "of SortedLedgerStorage, which is not here":
            "bookie_SKIP_LIST_* bookie_LEDGER_CACHE_* bookie_INDEX_INMEM_* bookie_NUM_INDEX_PAGES "
            "bookie_PENDING_GET_FILE_INFO bookie_*_FILE_INFO_CACHE_SIZE bookie_STORAGE_*",
        "the client has no threads of its own": "bookkeeper_client_BookKeeperClientWorker_* bookkeeper_client_thread_*",
        "autorecovery counts what it copies (replication_worker_*), not the operations of its client":
            "bookkeeper_client_bookkeeper_client_*",
        "the auditor copies nothing; replication_worker_* counts what is copied":
            "auditor_NUM_BYTES_READ auditor_NUM_BYTES_WRITTEN auditor_NUM_ENTRIES_READ auditor_NUM_ENTRIES_WRITTEN "
            "auditor_READ_DATA_LATENCY auditor_WRITE_DATA_LATENCY",
        "requests have no threads of their own, of high priority or not; only reads from disk have":
            "bookkeeper_server_BookieHighPriorityThread_* bookkeeper_server_BookieWriteThreadPool_*",
        "refused requests are failures of *_REQUEST": "bookkeeper_server_*_ENTRY_REJECTED",
        "waiting is a part of *_REQUEST and not measured apart":
            "bookkeeper_server_*_ENTRY_BLOCKED_WAIT bookkeeper_server_READ_ENTRY_FENCE_WAIT "
            "bookkeeper_server_READ_ENTRY_LONG_POLL_PRE_WAIT bookkeeper_server_READ_ENTRY_LONG_POLL_WAIT "
            "bookkeeper_server_READ_ENTRY_LONG_POLL_READ "
            "bookkeeper_server_READ_ENTRY_SCHEDULING_DELAY bookkeeper_server_WRITE_THREAD_QUEUED_LATENCY",
        "writes to sockets are counted (bookie_connection_writes); none of them waits":
            "bookkeeper_server_CHANNEL_WRITE",
        "not counted apart from other reads": "bookkeeper_server_READ_LAST_ENTRY_NOENTRY_ERROR",
        "the part of a request inside the bookie is not measured apart from bookkeeper_server_*_REQUEST":
            "bookie_BOOKIE_ADD_ENTRY bookie_BOOKIE_READ_ENTRY bookie_BOOKIE_RECOVERY_ADD_ENTRY "
            "bookie_BOOKIE_GET_LIST_OF_ENTRIES_OF_LEDGER",
        "putting entries into the write cache is not timed": "bookie_add_entry",
        "sizes of entries that are read are not recorded; bookie_READ_BYTES is their sum":
            "bookie_BOOKIE_READ_ENTRY_BYTES",
        "an index is never compacted: it uses the space of deleted rows again":
            "bookie_ENTRY_LOCATION_COMPACTION_TOTAL",
        "bookie_ACTIVE_ENTRY_LOG_SPACE_BYTES divided by bookie_ENTRY_LOG_SPACE_BYTES": "bookie_ENTRY_LOG_COMPACT_RATIO",
        "the phases of a garbage collection are not timed apart from bookie_THREAD_RUNTIME":
            "bookie_EXTRACT_META_RUNTIME bookie_GC_LEDGER_RUNTIME",
        "times that Java's threads are at work":
            "bookie_db_storage_thread_time bookie_sync_thread_time bookie_journal_callback_time",
        "the parts of a checkpoint are not timed apart from bookie_flush":
            "bookie_flush_entrylog bookie_flush_ledger_index bookie_flush_locations_index",
        "the parts of a read are not timed apart from bookie_read_entry":
            "bookie_get_last_entry_in_ledger bookie_lookup_entry_location bookie_read_entrylog_time "
            "bookie_read_locations_index_time bookie_readahead_time",
        "reads ahead have no fixed batch: bookie_readahead_batch_size is what they read":
            "bookie_readahead_max_batch_size",
        "the journal writes and syncs one group after the other: no queue of syncs, no reasons of flushes":
            "bookie_journal_JOURNAL_CREATION_LATENCY bookie_journal_JOURNAL_FORCE_LEDGER "
            "bookie_journal_JOURNAL_FORCE_WRITE_ENQUEUE bookie_journal_JOURNAL_FORCE_WRITE_GROUPING_TOTAL "
            "bookie_journal_JOURNAL_NUM_FLUSH_* bookie_journal_JOURNAL_PROCESS_TIME_LATENCY",
    }
)  # fmt: skip

DASHBOARDS = _by_name(
    {
        "there is no Java virtual machine; process_* is there": "jvm_*",
        "of Kubernetes and not of a bookie; bookie_ledger_dir_usage is the use of the disks": "kubelet_volume_stats_*",
        "of Pulsar's brokers and not of a bookie": "pulsar_version_info",
        "Apache's bookie writes 1.0, as here, and has no such series either": '*,quantile="1"}',
        "requests of high priority have no threads and no queue of their own":
            "bookkeeper_server_BookieHighPriorityThread_* "
            'bookkeeper_server_thread_executor_queue{thread=~"BookieHighPriorityThread-.*"}',
        "the threads that read share one queue, BookieReadThreadPool_queue_0":
            "bookkeeper_server_BookieReadThreadPool_queue_[1-7]",
        "no threads write for requests: adds go to the journal's queue":
            "bookkeeper_server_BookieWriteThreadPool_queue_0",
        "waiting and reading are parts of *_REQUEST and not measured apart":
            "bookkeeper_server_BookieReadThreadPool_task_*",
    }
)  # fmt: skip
"""What dashboards ask for (``tests/dashboards``) and a bookie does not export."""

KEYS = _by_name(
    {
        "of a thread pool or an event loop of Java's":
            "numAddWorkerThreads numLongPollWorkerThreads numHighPriorityWorkerThreads numJournalCallbackThreads "
            "numOfMemtableFlushThreads readWorkerThreadsThrottlingEnabled serverNumIOThreads serverNumAcceptorThreads "
            "enableBusyWait enableTaskExecutionStats taskExecutionWarnTimeMicros "
            "numWorkerThreads numIOThreads enableLocalTransport disableServerSocketBind",
        "of Java's memory: buffers and their allocator":
            "allocator* byteBufAllocatorSize* nettyUsePooledBuffers readBufferSizeBytes writeBufferSizeBytes "
            "journalWriteBufferSizeKB dbStorage_directIOEntryLoggerTotalWriteBufferSizeMB "
            "dbStorage_directIOEntryLoggerTotalReadBufferSizeMB dbStorage_directIOEntryLoggerReadBufferSizeMB",
        "of RocksDB, which is not the index here":
            "dbStorage_rocksDB_* defaultRocksdbConf entryLocationRocksdbConf ledgerMetadataRocksdbConf "
            "maxOperationNumbersInSingleRocksdbWriteBatch entryLocationCompactionInterval",
        "of interleaved and sorted storage, which are not here":
            "sortedLedgerStorageEnabled skipList* pageLimit pageSize fileInfo* openFileLimit flushEntrylogBytes "
            "minUsableSizeForIndexFileCreation localConsistencyCheckOnStartup",
        "there is one entry log at a time for all ledgers":
            "entryLogPerLedgerEnabled entryLogPerLedgerCounterLimitsMultFactor entrylogMapAccessExpiryTimeInSeconds "
            "maximumNumberOfActiveEntryLogs",
        "entry logs and their metadata are written in one way":
            "entryLogFilePreallocationEnabled gcEntryLogMetadataCache*",
        "compaction is always transactional and copies a step at a time":
            "useTransactionalCompaction compactionMaxOutstandingRequests",
        "metadata is always read before a ledger is deleted": "verifyMetadataOnGC",
        "over-replicated ledgers are deleted one by one": "gcOverreplicatedLedgerMaxConcurrentRequests",
        "scrub* of this bookie: a scrub reads everything": "localScrubInterval localScrubRateLimit",
        "groups of the journal are what has arrived during the last sync":
            "journalAdaptiveGroupWrites journalBufferedWritesThreshold journalBufferedEntriesThreshold "
            "journalFlushWhenQueueEmpty",
        "the journal is written in one format and one way":
            "journalFormatVersionToWrite journalChannelProvider journalRemoveFromPageCache",
        "damage in a journal ends the start; it is never skipped": "skipReplayJournalInvalidRecord",
        "reads ahead adapt to the reader":
            "dbStorage_readAheadCacheBatch* dbStorage_directIOEntryLoggerMaxFdCacheTimeSeconds",
        "a socket's options are fixed":
            "serverSockKeepalive serverTcpKeep* serverTcpLinger clientSockKeepalive clientSendBufferSize "
            "clientReceiveBufferSize clientTcpUserTimeoutMillis tcpKeep*",
        "a connection waits by bytes that are not sent: maxInFlightBytes of a client, pending replies of a bookie":
            "*WriteBufferLowWaterMark *WriteBufferHighWaterMark closeChannelOnResponseTimeout throttle "
            "waitTimeoutOnBackpressureMs",
        "timers are the reactor's": "requestTimer* pcbcTimeoutTimer* timeoutTimer* timeoutMonitorIntervalSec "
            "timeoutTaskIntervalMillis",
        "there is one HTTP server": "httpServerClass",
        "of the table service, which is not here": "dlog.* storage.* storageserver.*",
        "bookiePort=0 is allowed without it": "allowEphemeralPorts",
        "directories may be on one disk without it": "allowMultipleDirsUnderSameDiskPartition",
        "plugins take the place of classes": "extraServerComponents ignoreExtraServerComponentsStartupFailures "
            "registrationManagerClass registrationClientClass ledgerManager* allowShadedLedgerManagerFactoryClass "
            "shadedLedgerManagerFactoryClassPrefix metastore* tlsProvider",
        "metadata is written in one format, every format is read": "ledgerMetadataVersion",
        "clients do not store when a ledger was created": "storeSystemTimeAsLedgerCreationTime",
        "requests to ZooKeeper have no limit of their number": "zkRequestRateLimit",
        "statistics are never left out, and no log line has them": "limitStatsLogging sanityCheckMetricsEnabled",
        "the data integrity check is the scrub with autorecovery; cookies are mended by updatecookie":
            "dataIntegrityChecking dataIntegrityStampMissingCookies",
        "the shell takes it as an option: -ledgeridformat, -entryformat": "ledgerIdFormatterClass entryFormatterClass",
        "the zone-aware policy and fault domains are not here":
            "minNumZonesPerWriteQuorum desiredNumZonesPerWriteQuorum enforceStrictZoneawarePlacement "
            "enforceMinNumFaultDomainsForWrite",
        "the switch in the metadata of Apache's clusters is not looked at": "enableHealthCheck",
        "there are no features that are switched at run time": "disableEnsembleChangeFeatureName",
        "digest type and password are arguments of each create and open":
            "digestType enableDigestTypeAutodetection passwd",
        "clients take the keys of TLS without the prefix: tlsKeyStore and so on": "clientKeyStore* clientTrustStore*",
        "connections to a bookie are as many as the load needs, up to maxConnectionsPerBookie": "numChannelsPerBookie",
        "one time for each kind of request: readEntryTimeoutSec, addEntryTimeoutSec":
            "readTimeout getBookieInfoTimeoutSecs startTLSTimeoutSecs",
        "recovery always reads in parallel, in batches where the bookie knows them":
            "enableParallelRecoveryRead recoveryBatchReadEnabled",
        "there is no second view of bookies that were lost a short time ago": "networkTopologyStabilizePeriodSeconds",
        "reads are ordered by racks and failures, not by what is pending": "readReorderThresholdPendingRequests",
        "addresses of bookies are always looked up and followed": "bookieAddressResolverEnabled "
            "enableBookieAddressTracking",
        "failures of bookies are always remembered": "enableBookieFailureTracking",
        "the rack of this machine is looked up without it": "useHostnameResolveLocalNodePlacementPolicy",
        "the log has at most one line about a bookie in a fixed time": "clientConnectBookieUnavailableLogThrottling",
    }
)  # fmt: skip
