"""A message queue for Python people, with the semantics, wire and files of Apache RocketMQ.

Everything public is here, and imported when it is first used: `import mqframe` alone costs next to nothing.
Other distributions add names by entry points in the group `mqframe.names`, `Name = "module:attribute"`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mqframe_admin.client.admin import AsyncAdmin as AsyncAdmin
    from mqframe_admin.client.blocking.admin import Admin as Admin
    from mqframe_admin.rules.dead_letters import DeadLetter as DeadLetter
    from mqframe_admin.rules.queue_expansion import QueueExpansion as QueueExpansion
    from mqframe_pop.client.blocking_consumer import SimpleConsumer as SimpleConsumer
    from mqframe_pop.client.consumer import AsyncSimpleConsumer as AsyncSimpleConsumer
    from mqframe_pop.rules.popped import PoppedMessage as PoppedMessage
    from mqframe_pull.lite_pull.blocking_consumer import LitePullConsumer as LitePullConsumer
    from mqframe_pull.lite_pull.consumer import AsyncLitePullConsumer as AsyncLitePullConsumer
    from mqframe_pull.puller.blocking_puller import Puller as Puller
    from mqframe_pull.puller.puller import AsyncPuller as AsyncPuller
    from mqframe_pull.settings import LitePullSettings as LitePullSettings
    from mqframe_replication.settings import ReplicationSettings as ReplicationSettings
    from mqframe_transactions.client.batch_producer import (
        AsyncBatchTransactionProducer as AsyncBatchTransactionProducer,
    )
    from mqframe_transactions.client.blocking_batch_producer import (
        BatchTransactionProducer as BatchTransactionProducer,
    )
    from mqframe_transactions.client.blocking_producer import TransactionProducer as TransactionProducer
    from mqframe_transactions.client.listener import HalfMessage as HalfMessage
    from mqframe_transactions.client.listener import TransactionListener as TransactionListener
    from mqframe_transactions.client.listener import TransactionSendResult as TransactionSendResult
    from mqframe_transactions.client.producer import AsyncTransactionProducer as AsyncTransactionProducer
    from mqframe_transactions.client.record import DatabaseOutcome as DatabaseOutcome
    from mqframe_transactions.client.sends import AsyncTransaction as AsyncTransaction
    from mqframe_transactions.client.sends import Transaction as Transaction
    from mqframe_transactions.rules.half_batch import EndStatus as EndStatus
    from mqframe_transactions.rules.half_batch import EndsUnfinished as EndsUnfinished
    from mqframe_transactions.rules.half_batch import PreparedHalf as PreparedHalf

    from mqframe.broker.broker import Broker as Broker
    from mqframe.broker.sections import BrokerSections as BrokerSections
    from mqframe.broker.settings import BrokerSettings as BrokerSettings
    from mqframe.client.configuration.consumer_settings import ConsumerSettings as ConsumerSettings
    from mqframe.client.connection.instance import ClientInstance as ClientInstance
    from mqframe.client.consuming.push.blocking_consumer import PushConsumer as PushConsumer
    from mqframe.client.consuming.push.consumer import AsyncPushConsumer as AsyncPushConsumer
    from mqframe.client.consuming.push.listener import BatchListener as BatchListener
    from mqframe.client.consuming.push.listener import Handler as Handler
    from mqframe.client.consuming.push.listener import ListenerContext as ListenerContext
    from mqframe.client.consuming.push.typed_handler import TypedHandler as TypedHandler
    from mqframe.client.sending.blocking_producer import Producer as Producer
    from mqframe.client.sending.producer import AsyncProducer as AsyncProducer
    from mqframe.client.settings import ClientSettings as ClientSettings
    from mqframe.client.settings import ProducerSettings as ProducerSettings
    from mqframe.core.consuming.consume_result import ConsumeResult as ConsumeResult
    from mqframe.core.consuming.consume_rules import OnDecodeError as OnDecodeError
    from mqframe.core.consuming.group_config import CustomizedRetryPolicy as CustomizedRetryPolicy
    from mqframe.core.consuming.group_config import ExponentialRetryPolicy as ExponentialRetryPolicy
    from mqframe.core.consuming.group_config import GroupRetryPolicy as GroupRetryPolicy
    from mqframe.core.consuming.group_config import SubscriptionGroupConfig as SubscriptionGroupConfig
    from mqframe.core.consuming.pull import PullResult as PullResult
    from mqframe.core.consuming.pull import PullStatus as PullStatus
    from mqframe.core.errors import AccessError as AccessError
    from mqframe.core.errors import AnswerError as AnswerError
    from mqframe.core.errors import CallTimeout as CallTimeout
    from mqframe.core.errors import ClosedError as ClosedError
    from mqframe.core.errors import ConnectError as ConnectError
    from mqframe.core.errors import ConnectionLost as ConnectionLost
    from mqframe.core.errors import DecodeError as DecodeError
    from mqframe.core.errors import EncodeError as EncodeError
    from mqframe.core.errors import FixError as FixError
    from mqframe.core.errors import GiveUpError as GiveUpError
    from mqframe.core.errors import MessageError as MessageError
    from mqframe.core.errors import MqframeError as MqframeError
    from mqframe.core.errors import PluginError as PluginError
    from mqframe.core.errors import ReceiptError as ReceiptError
    from mqframe.core.errors import Refusal as Refusal
    from mqframe.core.errors import RequestFailed as RequestFailed
    from mqframe.core.errors import RequestTimeout as RequestTimeout
    from mqframe.core.errors import RetryError as RetryError
    from mqframe.core.errors import RouteError as RouteError
    from mqframe.core.errors import SettingError as SettingError
    from mqframe.core.errors import StoreError as StoreError
    from mqframe.core.errors import TlsError as TlsError
    from mqframe.core.errors import TooMuchInFlight as TooMuchInFlight
    from mqframe.core.filtering.filter_expression import Sql as Sql
    from mqframe.core.messages.batch import encode_element as encode_element
    from mqframe.core.messages.message import Message as Message
    from mqframe.core.messages.message import MessageQueue as MessageQueue
    from mqframe.core.messages.message import ReceivedMessage as ReceivedMessage
    from mqframe.core.messages.message import SendResult as SendResult
    from mqframe.core.messages.message import SendStatus as SendStatus
    from mqframe.core.messages.properties import encode_properties as encode_properties
    from mqframe.core.sending.request_reply import ReplyMessage as ReplyMessage
    from mqframe.core.sending.request_reply import reply_to as reply_to
    from mqframe.core.sending.transaction_outcome import TransactionOutcome as TransactionOutcome
    from mqframe.core.storage.record import decode_records as decode_records
    from mqframe.hooks.interfaces import AllocationPort as AllocationPort
    from mqframe.hooks.interfaces import AllocationStrategy as AllocationStrategy
    from mqframe.hooks.interfaces import BrokerService as BrokerService
    from mqframe.hooks.interfaces import Codec as Codec
    from mqframe.hooks.interfaces import ConsumeContext as ConsumeContext
    from mqframe.hooks.interfaces import ConsumeHook as ConsumeHook
    from mqframe.hooks.interfaces import Dispatcher as Dispatcher
    from mqframe.hooks.interfaces import Forbidden as Forbidden
    from mqframe.hooks.interfaces import ForbiddenContext as ForbiddenContext
    from mqframe.hooks.interfaces import ForbiddenHook as ForbiddenHook
    from mqframe.hooks.interfaces import HookPort as HookPort
    from mqframe.hooks.interfaces import IllegalProperty as IllegalProperty
    from mqframe.hooks.interfaces import LogRange as LogRange
    from mqframe.hooks.interfaces import MessageFilter as MessageFilter
    from mqframe.hooks.interfaces import OffsetStore as OffsetStore
    from mqframe.hooks.interfaces import OffsetStoreContext as OffsetStoreContext
    from mqframe.hooks.interfaces import QueueSelector as QueueSelector
    from mqframe.hooks.interfaces import ReadFrom as ReadFrom
    from mqframe.hooks.interfaces import RpcHook as RpcHook
    from mqframe.hooks.interfaces import SavedOffsetStore as SavedOffsetStore
    from mqframe.hooks.interfaces import SavedTable as SavedTable
    from mqframe.hooks.interfaces import SendContext as SendContext
    from mqframe.hooks.interfaces import SendHook as SendHook
    from mqframe.hooks.interfaces import SendOperation as SendOperation
    from mqframe.hooks.interfaces import SendRule as SendRule
    from mqframe.hooks.interfaces import TagSummary as TagSummary
    from mqframe.hooks.interfaces import TopicSummary as TopicSummary
    from mqframe.hooks.interfaces import TransactionEnd as TransactionEnd
    from mqframe.hooks.manager import PluginManager as PluginManager
    from mqframe.hooks.specs import hookimpl as hookimpl
    from mqframe.nameserver.server import NameServer as NameServer
    from mqframe.nameserver.settings import NameServerSettings as NameServerSettings
    from mqframe.net.settings import NetSettings as NetSettings
    from mqframe.store.reader import StoreReader as StoreReader
    from mqframe.store.settings import StoreSettings as StoreSettings

__version__ = "0.1.0"

_ERRORS = (
    "AccessError AnswerError CallTimeout ClosedError ConnectError ConnectionLost DecodeError EncodeError"
    " FixError GiveUpError MessageError MqframeError PluginError ReceiptError Refusal RequestFailed"
    " RequestTimeout"
    " RetryError RouteError SettingError StoreError TlsError TooMuchInFlight"
)
_INTERFACES = (
    "AllocationPort AllocationStrategy BrokerService Codec ConsumeContext ConsumeHook Dispatcher Forbidden"
    " ForbiddenContext ForbiddenHook HookPort IllegalProperty LogRange MessageFilter OffsetStore"
    " OffsetStoreContext QueueSelector ReadFrom RpcHook SavedOffsetStore SavedTable SendContext SendHook"
    " SendOperation SendRule TagSummary TopicSummary TransactionEnd"
)
_HOME = {
    name: f"mqframe.{module}"
    for module, names in {
        "broker.broker": "Broker",
        "broker.sections": "BrokerSections",
        "broker.settings": "BrokerSettings",
        "client.connection.instance": "ClientInstance",
        "client.sending.blocking_producer": "Producer",
        "client.consuming.push.blocking_consumer": "PushConsumer",
        "core.sending.transaction_outcome": "TransactionOutcome",
        "client.sending.producer": "AsyncProducer",
        "client.configuration.consumer_settings": "ConsumerSettings",
        "client.consuming.push.consumer": "AsyncPushConsumer",
        "client.consuming.push.listener": "BatchListener Handler ListenerContext",
        "client.consuming.push.typed_handler": "TypedHandler",
        "core.consuming.consume_rules": "OnDecodeError",
        "core.consuming.group_config": (
            "CustomizedRetryPolicy ExponentialRetryPolicy GroupRetryPolicy SubscriptionGroupConfig"
        ),
        "client.settings": "ClientSettings ProducerSettings",
        "core.consuming.consume_result": "ConsumeResult",
        "core.errors": _ERRORS,
        "core.storage.record": "decode_records",
        "core.messages.batch": "encode_element",
        "core.messages.properties": "encode_properties",
        "core.messages.message": "Message MessageQueue ReceivedMessage SendResult SendStatus",
        "core.filtering.filter_expression": "Sql",
        "core.consuming.pull": "PullResult PullStatus",
        "core.sending.request_reply": "ReplyMessage reply_to",
        "hooks.interfaces": _INTERFACES,
        "hooks.manager": "PluginManager",
        "hooks.specs": "hookimpl",
        "nameserver.server": "NameServer",
        "nameserver.settings": "NameServerSettings",
        "net.settings": "NetSettings",
        "store.reader": "StoreReader",
        "store.settings": "StoreSettings",
    }.items()
    for name in names.split()
}


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return __dir__()
    home = _HOME.get(name)
    value = getattr(import_module(home), name) if home is not None else _of_another(name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    from mqframe.hooks.names import offered_names

    return sorted([*_HOME, "__version__", *offered_names()])


def _of_another(name: str) -> Any:
    """What another distribution offers here. Raises `AttributeError`, which says what to install."""
    if name.startswith("_"):  # what Python itself asks for
        raise AttributeError(f"module 'mqframe' has no attribute {name!r}")
    from mqframe.hooks.names import load_name

    return load_name(name)
