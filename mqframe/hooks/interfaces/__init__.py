"""The interfaces of everything that can be plugged in, one kind a file.

Implement one, name it in the entry-point group `mqframe` as `kind.name`, and it can be chosen by that name.
Each is imported when it is first used: who makes a producer needs few of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mqframe.hooks.late_names import late_names

if TYPE_CHECKING:
    from mqframe.core.codes import ResponseCode as ResponseCode
    from mqframe.core.messages.codec import Codec as Codec
    from mqframe.core.requests.fields import Request as Request
    from mqframe.core.requests.fields import request as request
    from mqframe.core.requests.serving import Reply as Reply
    from mqframe.core.requests.serving import serves as serves
    from mqframe.core.storage.log_reading import LogReading as LogReading
    from mqframe.core.storage.log_reading import LogRuns as LogRuns
    from mqframe.core.wire.bodies import Body as Body
    from mqframe.hooks.interfaces.access import AccessPort as AccessPort
    from mqframe.hooks.interfaces.access import Authentication as Authentication
    from mqframe.hooks.interfaces.access import Authorization as Authorization
    from mqframe.hooks.interfaces.access import BrokerPlace as BrokerPlace
    from mqframe.hooks.interfaces.access import Caller as Caller
    from mqframe.hooks.interfaces.access import Credentials as Credentials
    from mqframe.hooks.interfaces.access import KeptFile as KeptFile
    from mqframe.hooks.interfaces.access import Refused as Refused
    from mqframe.hooks.interfaces.access import RemembersVerdicts as RemembersVerdicts
    from mqframe.hooks.interfaces.access import Signed as Signed
    from mqframe.hooks.interfaces.access import SignsByFields as SignsByFields
    from mqframe.hooks.interfaces.administration.broker import BrokerAdministration as BrokerAdministration
    from mqframe.hooks.interfaces.allocation import PREPARE_SECONDS_MAX as PREPARE_SECONDS_MAX
    from mqframe.hooks.interfaces.allocation import AllocationPort as AllocationPort
    from mqframe.hooks.interfaces.allocation import AllocationStrategy as AllocationStrategy
    from mqframe.hooks.interfaces.broker_messages import MessageReader as MessageReader
    from mqframe.hooks.interfaces.broker_messages import MessageRedelivery as MessageRedelivery
    from mqframe.hooks.interfaces.broker_messages import MessageWriter as MessageWriter
    from mqframe.hooks.interfaces.broker_port import BodyCheck as BodyCheck
    from mqframe.hooks.interfaces.broker_port import BrokerIdentity as BrokerIdentity
    from mqframe.hooks.interfaces.broker_port import BrokerPort as BrokerPort
    from mqframe.hooks.interfaces.broker_port import DueTask as DueTask
    from mqframe.hooks.interfaces.broker_port import SendAdmission as SendAdmission
    from mqframe.hooks.interfaces.broker_port import ServiceSettings as ServiceSettings
    from mqframe.hooks.interfaces.broker_port import SettingsInForce as SettingsInForce
    from mqframe.hooks.interfaces.broker_requests import BrokerRequests as BrokerRequests
    from mqframe.hooks.interfaces.broker_requests import ProxiedClient as ProxiedClient
    from mqframe.hooks.interfaces.broker_requests import ProxiedPeer as ProxiedPeer
    from mqframe.hooks.interfaces.broker_requests import answered_meanwhile as answered_meanwhile
    from mqframe.hooks.interfaces.broker_service import EVERY_TOPIC as EVERY_TOPIC
    from mqframe.hooks.interfaces.broker_service import BrokerService as BrokerService
    from mqframe.hooks.interfaces.broker_service import CompositeService as CompositeService
    from mqframe.hooks.interfaces.broker_service import CopiedFile as CopiedFile
    from mqframe.hooks.interfaces.broker_service import CopiedTable as CopiedTable
    from mqframe.hooks.interfaces.broker_service import OnArrival as OnArrival
    from mqframe.hooks.interfaces.broker_service import Periodic as Periodic
    from mqframe.hooks.interfaces.broker_service import SavedTable as SavedTable
    from mqframe.hooks.interfaces.broker_service import SlaveCopies as SlaveCopies
    from mqframe.hooks.interfaces.broker_service import Table as Table
    from mqframe.hooks.interfaces.broker_store import BrokerStore as BrokerStore
    from mqframe.hooks.interfaces.broker_tables import BrokerCounts as BrokerCounts
    from mqframe.hooks.interfaces.broker_tables import GroupLookup as GroupLookup
    from mqframe.hooks.interfaces.broker_tables import LeftOutNotes as LeftOutNotes
    from mqframe.hooks.interfaces.broker_tables import OffsetLookup as OffsetLookup
    from mqframe.hooks.interfaces.broker_tables import ReadAdmission as ReadAdmission
    from mqframe.hooks.interfaces.broker_tables import TopicLookup as TopicLookup
    from mqframe.hooks.interfaces.consume_hook import ConsumeContext as ConsumeContext
    from mqframe.hooks.interfaces.consume_hook import ConsumeHook as ConsumeHook
    from mqframe.hooks.interfaces.coordination import CALLS_IN_A_LEASE as CALLS_IN_A_LEASE
    from mqframe.hooks.interfaces.coordination import BrokerRole as BrokerRole
    from mqframe.hooks.interfaces.coordination import Coordination as Coordination
    from mqframe.hooks.interfaces.coordination import GroupAccess as GroupAccess
    from mqframe.hooks.interfaces.coordination import GroupPlace as GroupPlace
    from mqframe.hooks.interfaces.coordination import Snapshot as Snapshot
    from mqframe.hooks.interfaces.coordination import WaitingClock as WaitingClock
    from mqframe.hooks.interfaces.cut_back import CutBack as CutBack
    from mqframe.hooks.interfaces.cut_back import FileChange as FileChange
    from mqframe.hooks.interfaces.cut_back import OffsetPlace as OffsetPlace
    from mqframe.hooks.interfaces.cut_back import StoppedStore as StoppedStore
    from mqframe.hooks.interfaces.dispatcher import Dispatcher as Dispatcher
    from mqframe.hooks.interfaces.dispatcher import LogRange as LogRange
    from mqframe.hooks.interfaces.forbidden_hook import Forbidden as Forbidden
    from mqframe.hooks.interfaces.forbidden_hook import ForbiddenContext as ForbiddenContext
    from mqframe.hooks.interfaces.forbidden_hook import ForbiddenHook as ForbiddenHook
    from mqframe.hooks.interfaces.hook_port import ClientHook as ClientHook
    from mqframe.hooks.interfaces.hook_port import HookPort as HookPort
    from mqframe.hooks.interfaces.hook_port import Plugins as Plugins
    from mqframe.hooks.interfaces.key_index import KeyFile as KeyFile
    from mqframe.hooks.interfaces.key_index import KeyIndex as KeyIndex
    from mqframe.hooks.interfaces.key_index import KeyIndexing as KeyIndexing
    from mqframe.hooks.interfaces.key_index import KeyIndexPlace as KeyIndexPlace
    from mqframe.hooks.interfaces.key_index import KeyQuery as KeyQuery
    from mqframe.hooks.interfaces.key_index import QueryFound as QueryFound
    from mqframe.hooks.interfaces.key_index import RecordLookup as RecordLookup
    from mqframe.hooks.interfaces.key_index import RecoveredLog as RecoveredLog
    from mqframe.hooks.interfaces.key_index import TakesKeys as TakesKeys
    from mqframe.hooks.interfaces.memory_offset_store import MemoryOffsetStore as MemoryOffsetStore
    from mqframe.hooks.interfaces.memory_offset_store import SavedOffsetStore as SavedOffsetStore
    from mqframe.hooks.interfaces.message_filter import Matches as Matches
    from mqframe.hooks.interfaces.message_filter import MessageFilter as MessageFilter
    from mqframe.hooks.interfaces.monitoring.exporter import Exporter as Exporter
    from mqframe.hooks.interfaces.monitoring.exporter import ExporterPort as ExporterPort
    from mqframe.hooks.interfaces.monitoring.exporter import MonitoredBroker as MonitoredBroker
    from mqframe.hooks.interfaces.monitoring.exporter import MonitoredNameServer as MonitoredNameServer
    from mqframe.hooks.interfaces.monitoring.exporter import MonitoredProxy as MonitoredProxy
    from mqframe.hooks.interfaces.monitoring.measured import BrokerMeasures as BrokerMeasures
    from mqframe.hooks.interfaces.monitoring.measured import NameServerMeasures as NameServerMeasures
    from mqframe.hooks.interfaces.offset_store import OffsetStore as OffsetStore
    from mqframe.hooks.interfaces.offset_store import OffsetStoreContext as OffsetStoreContext
    from mqframe.hooks.interfaces.offset_store import OffsetWire as OffsetWire
    from mqframe.hooks.interfaces.offset_store import ReadFrom as ReadFrom
    from mqframe.hooks.interfaces.rpc_hook import RpcHook as RpcHook
    from mqframe.hooks.interfaces.selector import QueueSelector as QueueSelector
    from mqframe.hooks.interfaces.send_hook import SendContext as SendContext
    from mqframe.hooks.interfaces.send_hook import SendHook as SendHook
    from mqframe.hooks.interfaces.send_hook import TransactionEnd as TransactionEnd
    from mqframe.hooks.interfaces.send_operation import IllegalProperty as IllegalProperty
    from mqframe.hooks.interfaces.send_operation import SendOperation as SendOperation
    from mqframe.hooks.interfaces.send_operation import SendStopped as SendStopped
    from mqframe.hooks.interfaces.send_rule import PendingRecord as PendingRecord
    from mqframe.hooks.interfaces.send_rule import SendRule as SendRule
    from mqframe.hooks.interfaces.send_rule import StoredAt as StoredAt
    from mqframe.hooks.interfaces.topic_summary import TagSummary as TagSummary
    from mqframe.hooks.interfaces.topic_summary import TopicSummary as TopicSummary

_HOME = {
    name: f"mqframe.{module}"
    for module, names in {
        "core.codes": "ResponseCode",
        "core.requests.fields": "Request request",
        "core.requests.serving": "Reply serves",
        "core.wire.bodies": "Body",
        "hooks.interfaces.access": (
            "AccessPort Authentication Authorization BrokerPlace Caller Credentials KeptFile Refused "
            "RemembersVerdicts Signed SignsByFields"
        ),
        "hooks.interfaces.allocation": "PREPARE_SECONDS_MAX AllocationPort AllocationStrategy",
        "hooks.interfaces.administration.broker": "BrokerAdministration",
        "hooks.interfaces.broker_messages": "MessageReader MessageRedelivery MessageWriter",
        "hooks.interfaces.broker_port": (
            "BodyCheck BrokerIdentity BrokerPort DueTask SendAdmission ServiceSettings SettingsInForce"
        ),
        "hooks.interfaces.broker_requests": "BrokerRequests ProxiedClient ProxiedPeer answered_meanwhile",
        "hooks.interfaces.broker_store": "BrokerStore",
        "hooks.interfaces.broker_tables": (
            "BrokerCounts GroupLookup OffsetLookup LeftOutNotes ReadAdmission TopicLookup"
        ),
        "hooks.interfaces.broker_service": (
            "EVERY_TOPIC BrokerService CompositeService CopiedFile CopiedTable OnArrival Periodic SavedTable "
            "SlaveCopies Table"
        ),
        "core.messages.codec": "Codec",
        "hooks.interfaces.consume_hook": "ConsumeContext ConsumeHook",
        "hooks.interfaces.coordination": (
            "CALLS_IN_A_LEASE BrokerRole Coordination GroupAccess GroupPlace Snapshot WaitingClock"
        ),
        "hooks.interfaces.cut_back": "CutBack FileChange OffsetPlace StoppedStore",
        "hooks.interfaces.dispatcher": "Dispatcher LogRange",
        "hooks.interfaces.key_index": (
            "KeyFile KeyIndex KeyIndexing KeyIndexPlace KeyQuery QueryFound RecordLookup RecoveredLog "
            "TakesKeys"
        ),
        "core.storage.log_reading": "LogReading LogRuns",
        "hooks.interfaces.monitoring.exporter": (
            "Exporter ExporterPort MonitoredBroker MonitoredNameServer MonitoredProxy"
        ),
        "hooks.interfaces.forbidden_hook": "Forbidden ForbiddenContext ForbiddenHook",
        "hooks.interfaces.hook_port": "ClientHook HookPort Plugins",
        "hooks.interfaces.monitoring.measured": "BrokerMeasures NameServerMeasures",
        "hooks.interfaces.memory_offset_store": "MemoryOffsetStore SavedOffsetStore",
        "hooks.interfaces.message_filter": "Matches MessageFilter",
        "hooks.interfaces.offset_store": "OffsetStore OffsetStoreContext OffsetWire ReadFrom",
        "hooks.interfaces.rpc_hook": "RpcHook",
        "hooks.interfaces.selector": "QueueSelector",
        "hooks.interfaces.send_hook": "SendContext SendHook TransactionEnd",
        "hooks.interfaces.send_operation": "IllegalProperty SendOperation SendStopped",
        "hooks.interfaces.send_rule": "PendingRecord SendRule StoredAt",
        "hooks.interfaces.topic_summary": "TagSummary TopicSummary",
    }.items()
    for name in names.split()
}

__getattr__, __dir__ = late_names(__name__, _HOME)
