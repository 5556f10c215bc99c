"""Keys that a RocketMQ `broker.conf` or `namesrv.conf` may hold, by the part of RocketMQ that has them.

Made by `tools/generate_rocketmq_keys.py` from versions 4.9.7, 5.3.3 and 5.5.0: what setters take, and fields
that a broker writes into its file when a setting is changed while it runs: it takes them by other names, or
not at all. Keys of clients and of the proxy should be in no file of a broker, but are in some.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

KEYS_BY_PART: Final[Mapping[str, frozenset[str]]] = {
    "broker": frozenset(
        """
        accountStatsEnable accountStatsPrintZeroValues ackMessageThreadPoolNums ackThreadPoolQueueCapacity
        aclEnable adminBrokerThreadPoolNums adminBrokerThreadPoolQueueCapacity
        allowRecallWhenBrokerNotWriteable appendAckAsync appendCkAsync asyncSendEnable
        autoCreateSubscriptionGroup autoCreateTopicEnable autoDeleteUnusedStats
        broadcastOffsetExpireMaxSecond broadcastOffsetExpireSecond brokerClusterName brokerConfigPath
        brokerConfigPaths brokerContainerIP brokerElectionPriority brokerFastFailureEnable
        brokerHeartbeatInterval brokerIP1 brokerIP2 brokerId brokerName brokerNotActiveTimeoutMillis
        brokerPermission brokerTopicEnable cgColdReadThreshold channelExpiredTimeout checkSyncStateSetPeriod
        cleanOfflineBrokerInterval clearRetryTopicWhenDeleteTopic clientManageThreadPoolNums
        clientManagerThreadPoolQueueCapacity clusterTopicEnable coldCtrStrategyEnable commercialBaseCount
        commercialBigCount commercialEnable commercialSizePerMsg commercialTimerCount commercialTransCount
        compatibleWithOldNameSrv compressedRegister configBlackList configManagerVersion
        consumerFallbehindThreshold consumerManageThreadPoolNums consumerManagerThreadPoolQueueCapacity
        consumerOffsetUpdateVersionStep controllerAddr controllerHeartBeatTimeoutMills
        defaultMessageRequestMode defaultPopShareQueueNum defaultTopicQueueNums delayOffsetUpdateVersionStep
        disableConsumeIfConsumerReadSlowly enableBroadcastOffsetStore enableCalcFilterBitMap
        enableConnectionMetrics enableControllerMode enableCreateSysGroup enableDetailStat
        enableFastChannelEventProcess enableLagAndDlqMetrics enableLiteEventMode enableLitePopLog
        enableLmqStats enableMessageStoreMetrics enableMixedMessageType enableNetWorkFlowControl
        enableNotifyAfterPopOrderLockRelease enableNotifyBeforePopCalculateLag enablePopBatchAck
        enablePopBufferMerge enablePopLog enablePopMessageThreshold enablePopMetrics enablePropertyFilter
        enableRegisterProducer enableRemoteEscape enableRemotingMetrics enableRequestMetrics
        enableRetryTopicV2 enableSingleTopicRegister enableSkipLongAwaitingAck enableSlaveActingMaster
        enableSplitMetadata enableSplitRegistration enableStatsMetrics enableTransactionMetrics
        endTransactionPoolQueueCapacity endTransactionThreadPoolNums estimateAccumulation
        expectConsumerNumUseFilter fetchControllerAddrByDnsLookup fetchNameSrvAddrByDnsLookup
        fetchNamesrvAddrByAddressServer fetchNamesrvAddrInterval filterDataCleanTimeSpan filterServerNums
        filterSupportRetry flushConsumerOffsetHistoryInterval flushConsumerOffsetInterval forceRegister
        forwardTimeout globalColdReadThreshold heartbeatThreadPoolNums heartbeatThreadPoolQueueCapacity
        highSpeedMode inBrokerContainer initPopOffsetByCheckMsgInMem isBrokerContainer isInBrokerContainer
        isolateLogEnable listenPort liteEventCheckInterval liteEventFullDispatchDelayTime
        liteEventFullDispatchDelayTimeForWildcardGroup liteLagCountMetricsEnable liteLagLatencyCollectEnable
        liteLagLatencyMetricsEnable liteLagLatencyTopK litePullMessageEnable litePullMessageThreadPoolNums
        litePullThreadPoolQueueCapacity liteSubscriptionCheckInterval liteSubscriptionCheckTimeoutMills
        liteTtlCheckInterval loadBalancePollNameServerInterval loadBalanceProcessorThreadPoolNums
        loadBalanceThreadPoolQueueCapacity lockInStrictMode longPollingEnable maxClientEventCount
        maxDelayTime maxErrorRateOfBloomFilter maxLiteSubscriptionCount maxMessageFilterNumForNotification
        maxPopPollingSize maxStatsIdleTimeInMinutes messageStorePlugIn metricGrpcExporterIntervalInMills
        metricGrpcExporterTimeOutInMills metricLoggingExporterIntervalInMills
        metricsExportBatchMaxDataPoints metricsExporterType metricsGrpcExporterHeader
        metricsGrpcExporterTarget metricsInDelta metricsLabel metricsOtelCardinalityLimit
        metricsPromExporterHost metricsPromExporterPort minLiteTTl msgTraceTopicName namesrvAddr
        notifyConsumerIdsChangedEnable persistConsumerOffsetIncrementally popCkMaxBufferSize
        popCkOffsetMaxQueueSize popCkStayBufferTime popCkStayBufferTimeOut popConsumerFSServiceInit
        popConsumerKVServiceEnable popConsumerKVServiceInit popConsumerKVServiceLog popFromRetryProbability
        popFromRetryProbabilityForPriority popInflightMessageThreshold popLongPollingForceNotifyInterval
        popPollingMapExpireTimeSeconds popPollingMapSize popPollingSize popResponseReturnActualRetryTopic
        popReviveConcurrency popReviveMaxAttemptTimes popReviveMaxReturnSizePerRead
        popReviveSkipIfGroupAbsent printChannelGroups printChannelGroupsMinNum priorityOrderAsc
        processReplyMessageThreadPoolNums pullMessageThreadPoolNums pullThreadPoolQueueCapacity
        putMessageFutureThreadPoolNums putThreadPoolQueueCapacity queryMessageThreadPoolNums
        queryThreadPoolQueueCapacity realTimeNotifyConsumerChange recallMessageEnable recoverConcurrently
        recoverThreadPoolNums regionId registerBrokerTimeoutMills registerNameServerPeriod
        rejectPullConsumerEnable rejectTransactionMessage replyThreadPoolQueueCapacity
        retrieveMessageFromPopRetryTopicV1 reviveAckWaitMs reviveInterval reviveMaxSlow reviveQueueNum
        reviveScanTime rmqAddressServerDomain rmqAddressServerSubGroup rocketmqHome
        sendHeartbeatTimeoutMillis sendMessageThreadPoolNums sendThreadPoolQueueCapacity
        serverLoadBalancerEnable shortPollingTimeMills skipPreOnline skipWhenCKRePutReachMaxTimes
        slaveReadEnable splitMetadataSize splitRegistrationSize startAcceptSendRequestTimeStamp
        storeReplyMessageEnable subscriptionExpiredTimeout syncBrokerMemberGroupPeriod
        syncBrokerMetadataPeriod syncControllerMetadataPeriod traceOn traceTopicEnable
        transactionCheckInterval transactionCheckMax transactionCheckRocksdbCoreThreads
        transactionCheckRocksdbMaxThreads transactionCheckRocksdbQueueCapacity
        transactionMetricFlushInterval transactionOpBatchInterval transactionOpMsgMaxSize transactionTimeOut
        transferMsgByHeap updateNameServerAddrPeriod updateNamesrvAddrInterval
        useMessageFilterForNotification usePIDColdCtrStrategy useSeparateRetryQueue useServerSideResetOffset
        useSingleRocksDBForAllConfigs useStaticSubscription validateSystemTopicWhenUpdateTopic
        waitTimeMillsInAckQueue waitTimeMillsInAdminBrokerQueue waitTimeMillsInHeartbeatQueue
        waitTimeMillsInLitePullQueue waitTimeMillsInPullQueue waitTimeMillsInSendQueue
        waitTimeMillsInTransactionQueue
        """.split()
    ),
    "store": frozenset(
        """
        accessMessageInMemoryHotRatio accessMessageInMemoryMaxRatio allAckInSyncStateSet
        appendTopicForTimerDeleteKey asyncLearner autoMessageVersionOnTopicLen
        batchDispatchRequestThreadPoolNums bitMapLengthConsumeQueueExt
        bottomMostCompressionTypeForConsumeQueueStore brokerClusterName brokerName brokerRole
        checkCRCOnRecover checkCommitLogOffsetOnRecover cleanFileForciblyEnable cleanResourceInterval
        cleanRocksDBDirtyCQIntervalMin cleanSwapedMapInterval coldDataFlowControlEnable coldDataScanEnable
        combineAssignOffsetCQType combineCQEnableCheckSelf combineCQLoadingCQTypes
        combineCQMaxExtraSearchCommitLogFiles combineCQPreferCQType combineCQUseRocksdbForLmq
        commitCommitLogLeastPages commitCommitLogThoroughInterval commitIntervalCommitLog
        commitLogForceSwapMapInterval commitLogRecoverMaxNum commitLogRollingInterval
        commitLogRollingMinimumSize commitLogSwapMapInterval commitLogSwapMapReserveFileNum
        compactionCqMappedFileSize compactionMappedFileSize compactionScheduleInternal compactionThreadNum
        correctLogicMinOffsetForceInterval correctLogicMinOffsetSleepInterval dLegerGroup dLegerPeers
        dLegerSelfId dataReadAheadEnable debugLockEnable defaultQueryMaxNum deleteCommitLogFilesInterval
        deleteConsumeQueueFilesInterval deleteFileBatchMax deleteWhen destroyMapedFileIntervalForcibly
        disappearTimeAfterStart diskFallRecorded diskMaxUsedSpaceRatio diskSpaceCleanForciblyRatio
        diskSpaceWarningLevelRatio dispatchCqCacheNum dispatchCqThreads dispatchFromSenderThread
        duplicationEnable enableAcceleratedRecovery enableAsyncReput enableAutoInSyncReplicas
        enableBatchPush enableBuildConsumeQueueConcurrently enableCleanExpiredOffset enableCompaction
        enableConsumeQueueExt enableDLegerCommitLog enableLmq enableLmqQuota
        enableLogConsumeQueueRepeatedlyBuildWhenRecover enableMultiDispatch enableRocksDBLog
        enableRunningFlagsInFlush enableScheduleAsyncDeliver enableScheduleMessageStats enabledAppendPropCRC
        fastFailIfNoBufferInStorePool fileReservedTime flushCommitLogLeastPages
        flushCommitLogThoroughInterval flushCommitLogTimed flushConsumeQueueLeastPages
        flushConsumeQueueThoroughInterval flushDelayOffsetInterval flushDiskType flushIntervalCommitLog
        flushIntervalConsumeQueue flushLeastPagesWhenWarmMapedFile forceVerifyPropCRC haFlowControlEnable
        haHousekeepingInterval haListenPort haMasterAddress haMaxGapNotInSync haMaxTimeSlaveNotCatchup
        haSendHeartbeatInterval haSlaveFallbehindMax haTransferBatchSize inSyncReplicas indexFileReadEnable
        indexFileWriteEnable indexRocksDBEnable isEnableBatchPush iteratorWhenUseRocksdbConsumeQueue
        logicQueueForceSwapMapInterval logicQueueSwapMapInterval logicQueueSwapMapReserveFileNum
        logicalDiskSpaceCleanForciblyThreshold mappedFileSizeCommitLog mappedFileSizeConsumeQueue
        mappedFileSizeConsumeQueueExt mappedFileSizeTimerLog mappedFileSwapEnable
        mapperFileSizeBatchConsumeQueue maxAsyncPutMessageRequests maxBatchDeleteFilesNum maxChecksumRange
        maxConsumeQueueScan maxFilterMessageSize maxHaTransferByteInSecond maxHashSlotNum maxIndexNum
        maxLmqConsumeQueueNum maxMessageSize maxMsgsNumBatch maxOffsetMapSize maxRecoveryCommitlogFiles
        maxRocksDBIndexQueryDays maxSlaveResendLength maxTopicLength maxTransferBytesOnMessageInDisk
        maxTransferBytesOnMessageInMemory maxTransferCountOnMessageInDisk maxTransferCountOnMessageInMemory
        memTableFlushIntervalMs messageDelayLevel messageIndexEnable messageIndexSafe minInSyncReplicas
        objectStoreAccessKey objectStoreBucket objectStoreEndpoint objectStoreSecretKey offsetCheckInSlave
        osPageCacheBusyTimeOutMills preferredLeaderId pullBatchMaxMessageCount
        putConsumeQueueDataByFileChannel putMessageTimeout putMsgIndexHightWater readAheadCacheEnable
        readAheadCacheExpireDuration readAheadCacheSizeThresholdRate readAheadMessageCountThreshold
        readAheadMessageSizeThreshold readOnlyCommitLogStorePaths readUnCommitted
        realTimePersistRocksDBConfig recheckReputOffsetFromCq recordGetMessageResult
        redeleteHangedFileInterval replicasPerDiskPartition rocksdbCQDoubleWriteEnable
        rocksdbCompressionType rocksdbFlushWalFrequency rocksdbWalFileRollingThreshold sampleCountThreshold
        sampleSteps scheduleAsyncDeliverMaxPendingLimit scheduleAsyncDeliverMaxResendNum2Blocked
        searchBcqByCacheEnable sharedByteBufferNum slaveTimeout spinLockCollisionRetreatOptimalDegree
        statRocksDBCQIntervalSec storePathBrokerIdentity storePathCommitLog storePathDLedgerCommitLog
        storePathEpochFile storePathRootDir storeType syncFlushTimeout syncFromLastFile
        syncMasterFlushOffsetWhenStartup tieredBackendServiceProvider tieredMetadataServiceProvider
        tieredStorageLevel tieredStoreCommitLogMaxSize tieredStoreConsumeQueueMaxSize
        tieredStoreCrcCheckEnable tieredStoreDeleteFileEnable tieredStoreDeleteFileInterval
        tieredStoreFilePath tieredStoreFileReservedTime tieredStoreGroupCommit tieredStoreGroupCommitCount
        tieredStoreGroupCommitSize tieredStoreGroupCommitTimeout tieredStoreIndexFileMaxHashSlotNum
        tieredStoreIndexFileMaxIndexNum tieredStoreMaxGroupCommitCount tieredStoreMaxPendingLimit
        timerCheckMetricsWhen timerColdDataCheckIntervalMs timerCongestNumEachSlot timerEnableCheckMetrics
        timerEnableDisruptor timerEnableRetryUntilSuccess timerFlushIntervalMs timerGetMessageThreadNum
        timerInterceptDelayLevel timerMaxDelaySec timerMetricSmallThreshold timerPrecisionMs
        timerProgressLogIntervalMs timerPutMessageThreadNum timerRecallToTimeWheelEnable
        timerRecallToTimelineEnable timerReputServiceCorePoolSize timerReputServiceMaxPoolSize
        timerReputServiceQueueCapacity timerRocksDBEnable timerRocksDBPrecisionMs
        timerRocksDBRollIntervalHours timerRocksDBRollMaxTps timerRocksDBRollRangeHours timerRocksDBStopScan
        timerRocksDBTimeExpiredMaxTps timerRollWindowSlot timerSkipUnknownError timerStopDequeue
        timerStopEnqueue timerWarmEnable timerWheelEnable timerWheelSnapshotFlush
        timerWheelSnapshotIntervalMs topicQueueLockNum totalReplicas transRocksDBEnable
        transWriteOriginTransHalfEnable transientStorePoolEnable transientStorePoolSize
        travelCqFileNumWhenGetMessage useABSLock useReentrantLockWhenPutMessage
        useSeparateStorePathForRocksdbCQ wakeCommitWhenPutMessage wakeFlushWhenPutMessage
        warmMapedFileEnable writeWithoutMmap
        """.split()
    ),
    "network": frozenset(
        """
        bindAddress channelNotActiveInterval clientAsyncSemaphoreValue clientCallbackExecutorThreads
        clientChannelMaxIdleTimeSeconds clientCloseSocketIfTimeout clientOnewaySemaphoreValue
        clientPooledByteBufAllocatorEnable clientSocketRcvBufSize clientSocketSndBufSize clientWorkerThreads
        connectTimeoutMillis disableCallbackExecutor disableNettyWorkerGroup enableReconnectForGoAway
        enableShutdownGracefully isScanAvailableNameSrv listenPort maxReconnectIntervalTimeSeconds
        scanAvailableNameSrv serverAsyncSemaphoreValue serverCallbackExecutorThreads
        serverChannelMaxIdleTimeSeconds serverNettyWorkerGroupEnable serverOnewaySemaphoreValue
        serverPooledByteBufAllocatorEnable serverSelectorThreads serverSocketBacklog serverSocketRcvBufSize
        serverSocketSndBufSize serverWorkerThreads shutdownWaitTimeSeconds socksProxyConfig
        useEpollNativeSelector useTLS writeBufferHighWaterMark writeBufferLowWaterMark
        """.split()
    ),
    "access": frozenset(
        """
        aclCacheExpiredSecond aclCacheMaxNum aclCacheRefreshSecond authConfigPath authenticationEnabled
        authenticationMetadataProvider authenticationProvider authenticationStrategy authenticationWhitelist
        authorizationEnabled authorizationMetadataProvider authorizationProvider authorizationStrategy
        authorizationWhitelist clusterName configName initAuthenticationUser
        innerClientAuthenticationCredentials migrateAuthFromV1Enabled
        statefulAuthenticationCacheExpiredSecond statefulAuthenticationCacheMaxNum
        statefulAuthorizationCacheExpiredSecond statefulAuthorizationCacheMaxNum userCacheExpiredSecond
        userCacheMaxNum userCacheRefreshSecond
        """.split()
    ),
    "name server": frozenset(
        """
        clientRequestThreadPoolNums clientRequestThreadPoolQueueCapacity clusterTest configBlackList
        configStorePath defaultThreadPoolNums defaultThreadPoolQueueCapacity
        deleteTopicWithBrokerRegistration enableAllTopicList enableControllerInNamesrv enableTopicList
        kvConfigPath needWaitForService notifyMinBrokerIdChanged orderMessageEnable productEnvName
        returnOrderTopicConfigToBroker rocketmqHome scanNotActiveBrokerInterval supportActingMaster
        unRegisterBrokerQueueCapacity waitSecondsForService
        """.split()
    ),
    "controller": frozenset(
        """
        configBlackList configStorePath controllerDLegerGroup controllerDLegerPeers controllerDLegerSelfId
        controllerRequestThreadPoolQueueCapacity controllerStorePath controllerThreadPoolNums controllerType
        electMasterMaxRetryCount enableElectUncleanMaster isProcessReadEvent jRaftControllerRPCAddr
        jRaftElectionTimeoutMs jRaftGroupId jRaftInitConf jRaftScanWaitTimeoutMs jRaftServerId
        jRaftSnapshotIntervalSecs jraftConfig mappedFileSize metricGrpcExporterIntervalInMills
        metricGrpcExporterTimeOutInMills metricLoggingExporterIntervalInMills metricsExporterType
        metricsGrpcExporterHeader metricsGrpcExporterTarget metricsInDelta metricsLabel
        metricsPromExporterHost metricsPromExporterPort notifyBrokerRoleChanged processReadEvent
        rocketmqHome scanInactiveMasterInterval scanNotActiveBrokerInterval
        """.split()
    ),
    "proxy": frozenset(
        """
        aclCacheExpiredSeconds aclCacheMaxNum aclCacheRefreshSeconds brokerConfigPath
        channelExpiredInSeconds channelExpiredTimeout consumerProcessorThreadPoolNums
        consumerProcessorThreadPoolQueueCapacity contextExpiredInSeconds defaultInvisibleTimeMills
        delayLevelTable detectInterval detectTimeout enableAclRpcHookForClusterMode enableBatchAck
        enableGrpcEpoll enableMessageBodyEmptyCheck enablePrintJstack enableProxyAutoRenew
        enableRemotingLocalProxyGrpc enableTopicMessageTypeCheck grpcBossLoopNum
        grpcClientConsumerLongPollingBatchSize grpcClientConsumerMaxLongPollingTimeoutMillis
        grpcClientConsumerMinLongPollingTimeoutMillis grpcClientIdleTimeMills
        grpcClientManagerThreadPoolNums grpcClientManagerThreadQueueCapacity
        grpcClientProducerBackoffInitialMillis grpcClientProducerBackoffMaxMillis
        grpcClientProducerBackoffMultiplier grpcClientProducerMaxAttempts grpcConsumerThreadPoolNums
        grpcConsumerThreadQueueCapacity grpcMaxConcurrentCallsPerConnection grpcMaxInboundMessageSize
        grpcProducerThreadPoolNums grpcProducerThreadQueueCapacity grpcProxyRelayRequestTimeoutInSeconds
        grpcRouteThreadPoolNums grpcRouteThreadQueueCapacity grpcServerPort grpcShutdownTimeSeconds
        grpcThreadPoolNums grpcThreadPoolQueueCapacity grpcTransactionThreadPoolNums
        grpcTransactionThreadQueueCapacity grpcWorkerLoopNum heartbeatSyncerThreadPoolNums
        heartbeatSyncerThreadPoolQueueCapacity heartbeatSyncerTopicClusterName heartbeatSyncerTopicName
        invisibleTimeMillisWhenClear localProxyConnectTimeoutMs localServeAddr lockTimeoutMsInHandleGroup
        longPollingReserveTimeInMillis maxDelayTimeMills maxInvisibleTimeMills maxLiteRenewNumPerChannel
        maxLiteTopicSize maxMessageGroupSize maxMessageSize maxRenewRetryTimes maxSyncLiteSubscriptionRate
        maxTransactionRecoverySecond maxUserPropertySize messageDelayLevel metadataThreadPoolNums
        metadataThreadPoolQueueCapacity metricCollectorAddress metricCollectorMode
        metricGrpcExporterIntervalInMills metricGrpcExporterTimeOutInMills
        metricLoggingExporterIntervalInMills metricsExporterType metricsGrpcExporterHeader
        metricsGrpcExporterTarget metricsInDelta metricsLabel metricsPromExporterHost
        metricsPromExporterPort minInvisibleTimeMillsForRecv namesrvAddr namesrvDomain namesrvDomainSubgroup
        printJstackInMillis printThreadPoolStatusInMillis producerProcessorThreadPoolNums
        producerProcessorThreadPoolQueueCapacity proxyClusterName proxyMode proxyName regionId
        remotingAccessAddr remotingDefaultThreadPoolNums remotingDefaultThreadPoolQueueCapacity
        remotingHeartbeatThreadPoolNums remotingHeartbeatThreadPoolQueueCapacity remotingListenPort
        remotingPullMessageThreadPoolNums remotingPullThreadPoolQueueCapacity
        remotingSendMessageThreadPoolNums remotingSendThreadPoolQueueCapacity
        remotingTopicRouteThreadPoolNums remotingTopicRouteThreadPoolQueueCapacity
        remotingUpdateOffsetThreadPoolNums remotingUpdateOffsetThreadPoolQueueCapacity
        remotingWaitTimeMillsInDefaultQueue remotingWaitTimeMillsInHeartbeatQueue
        remotingWaitTimeMillsInPullQueue remotingWaitTimeMillsInSendQueue
        remotingWaitTimeMillsInTopicRouteQueue remotingWaitTimeMillsInUpdateOffsetQueue renewAheadTimeMillis
        renewMaxThreadPoolNums renewMaxTimeMillis renewSchedulePeriodMillis renewThreadPoolNums
        renewThreadPoolQueueCapacity returnHandleGroupThreadPoolNums rocketMQClusterName rocketmqMQClientNum
        sendLatencyEnable startDetectorEnable subscriptionGroupConfigCacheExpiredSeconds
        subscriptionGroupConfigCacheMaxNum subscriptionGroupConfigCacheRefreshSeconds tlsCertPath
        tlsCertWatchIntervalMs tlsKeyPassword tlsKeyPath tlsTestModeEnable topicConfigCacheExpiredSeconds
        topicConfigCacheMaxNum topicConfigCacheRefreshSeconds topicRouteServiceCacheExpiredSeconds
        topicRouteServiceCacheMaxNum topicRouteServiceCacheRefreshSeconds topicRouteServiceThreadPoolNums
        topicRouteServiceThreadPoolQueueCapacity traceOn transactionDataExpireMillis
        transactionDataExpireScanPeriodMillis transactionDataMaxNum transactionDataMaxWaitClearMillis
        transactionHeartbeatBatchNum transactionHeartbeatPeriodSecond transactionHeartbeatThreadPoolNums
        transactionHeartbeatThreadPoolQueueCapacity useDelayLevel useEndpointPortFromRequest
        userCacheExpiredSeconds userCacheMaxNum userCacheRefreshSeconds userPropertyMaxNum
        """.split()
    ),
    "client": frozenset(
        """
        adjustThreadPoolNumsThreshold autoBatch autoCommit autoCommitIntervalMillis
        awaitTerminationMillisWhenShutdown backPressureForAsyncSendNum
        backPressureForAsyncSendNumInsideAdjust backPressureForAsyncSendSize
        backPressureForAsyncSendSizeInsideAdjust clientCallbackExecutorThreads clientIP clientRebalance
        compressLevel compressMsgBodyOverHowmuch concurrentHeartbeatThreadPoolSize connectBrokerByUser
        consumeConcurrentlyMaxSpan consumeMaxSpan consumeMessageBatchMaxSize consumeThreadMax
        consumeThreadMin consumeTimeout consumeTimestamp consumerGroup consumerPullTimeoutMillis
        consumerTimeoutMillisWhenSuspend createTopicKey customizedTraceTopic decodeDecompressBody
        decodeReadBody defaultBrokerId defaultTopicQueueNums detectInterval detectTimeout
        enableBackpressureForAsyncMode enableConcurrentHeartbeat enableHeartbeatChannelEventListener
        enableMsgTrace enableStreamRequestType enableTrace heartbeatBrokerInterval instanceName
        maxMessageSize maxPageSizeInGetMetadata maxReconsumeTimes mqClientApiTimeout namespace namespaceV2
        namesrvAddr persistConsumerOffsetInterval pollNameServerInterval pollTimeoutMillis popBatchNums
        popInvisibleTime popThresholdForQueue postSubscriptionWhenPull producerGroup pullBatchSize
        pullBatchSizeInBytes pullInterval pullThreadNums pullThresholdForAll pullThresholdForQueue
        pullThresholdForTopic pullThresholdSizeForQueue pullThresholdSizeForTopic
        pullTimeDelayMillsWhenException retryAnotherBrokerWhenNotStoreOK retryTimesWhenSendAsyncFailed
        retryTimesWhenSendFailed sendLatencyEnable sendLatencyFaultEnable sendMessageWithVIPChannel
        sendMsgMaxTimeoutPerRequest sendMsgTimeout socksProxyConfig startDetectorEnable
        suspendCurrentQueueTimeMillis topicMetadataCheckIntervalMillis traceMsgBatchNum traceTopic unitMode
        unitName useHeartbeatV2 useTLS vipChannelEnabled
        """.split()
    ),
}
JAVA_PROPERTIES: Final = frozenset(
    """
    com.rocketmq.remoting.client.channel.maxIdleTimeSeconds
    com.rocketmq.remoting.client.closeSocketIfTimeout com.rocketmq.remoting.client.connect.timeout
    com.rocketmq.remoting.client.worker.size com.rocketmq.remoting.clientAsyncSemaphoreValue
    com.rocketmq.remoting.clientOnewaySemaphoreValue
    com.rocketmq.remoting.nettyPooledByteBufAllocatorEnable com.rocketmq.remoting.socket.backlog
    com.rocketmq.remoting.socket.rcvbuf.size com.rocketmq.remoting.socket.sndbuf.size
    com.rocketmq.remoting.write.buffer.high.water.mark com.rocketmq.remoting.write.buffer.low.water.mark
    tls.ciphers tls.client.authServer tls.client.certPath tls.client.keyPassword tls.client.keyPath
    tls.client.trustCertPath tls.config.file tls.enable tls.protocols tls.server.authClient
    tls.server.certPath tls.server.keyPassword tls.server.keyPath tls.server.mode
    tls.server.need.client.auth tls.server.trustCertPath tls.test.mode.enable
    """.split()
)
"""Properties of Java's that say how connections are secured, and how wide they are."""
DOCUMENTED: Final = frozenset(
    """
    abortFile checkTransactionMessageEnable needAckNums storeCheckpoint storePathConsumeQueue
    storePathConsumerQueue storePathIndex
    """.split()
)
"""Keys that stand in documentation and in many files, though no version takes them."""
ROCKETMQ_KEYS: Final = DOCUMENTED.union(*KEYS_BY_PART.values())
"""All of them that are no properties of Java's."""
