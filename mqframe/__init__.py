"""A message queue for Python people, with the semantics, wire and files of Apache RocketMQ.

Everything public is here, and imported when it is first used: `import mqframe` alone costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mqframe.broker.broker import Broker
    from mqframe.broker.settings import BrokerSettings
    from mqframe.client.admin import AsyncAdmin
    from mqframe.client.batch_transaction_producer import (
        AsyncBatchTransactionProducer,
        BatchTransactionProducer,
    )
    from mqframe.client.blocking_admin import Admin
    from mqframe.client.blocking_lite_pull_consumer import LitePullConsumer
    from mqframe.client.blocking_producer import Producer
    from mqframe.client.blocking_pull import BlockingPuller, Puller
    from mqframe.client.blocking_push_consumer import PushConsumer
    from mqframe.client.blocking_simple_consumer import SimpleConsumer
    from mqframe.client.blocking_transaction_producer import Transaction, TransactionProducer
    from mqframe.client.consumer_settings import ConsumerSettings
    from mqframe.client.lite_pull_consumer import AsyncLitePullConsumer
    from mqframe.client.lite_pull_settings import LitePullSettings
    from mqframe.client.producer import AsyncProducer
    from mqframe.client.pull import AsyncPuller
    from mqframe.client.push_consumer import AsyncPushConsumer
    from mqframe.client.settings import ClientSettings, ProducerSettings
    from mqframe.client.simple_consumer import AsyncSimpleConsumer
    from mqframe.client.transaction_listener import HalfMessage, TransactionListener, TransactionSendResult
    from mqframe.client.transaction_producer import AsyncTransaction, AsyncTransactionProducer
    from mqframe.client.transaction_record import DatabaseOutcome
    from mqframe.core.consume_result import ConsumeResult
    from mqframe.core.dead_letter_rules import DeadLetter
    from mqframe.core.errors import (
        AccessError,
        AnswerError,
        CallTimeout,
        ClosedError,
        ConnectError,
        ConnectionLost,
        FixError,
        GiveUpError,
        MessageError,
        MqframeError,
        PluginError,
        ReceiptError,
        Refusal,
        RequestTimeout,
        RetryError,
        RouteError,
        SettingError,
        StoreError,
        TlsError,
        TooMuchInFlight,
    )
    from mqframe.core.half_batch import EndStatus, EndsUnfinished, PreparedHalf
    from mqframe.core.message import Message, MessageQueue, ReceivedMessage, SendResult, SendStatus
    from mqframe.core.message_choice import Sql
    from mqframe.core.popped import PoppedMessage
    from mqframe.core.pull import PullResult, PullStatus
    from mqframe.core.request_reply import ReplyMessage, reply_to
    from mqframe.core.topic_growth import TopicGrowth
    from mqframe.core.transaction_outcome import TransactionOutcome
    from mqframe.hooks.interfaces import (
        AllocationStrategy,
        ConsumeContext,
        ConsumeHook,
        Dispatcher,
        Forbidden,
        ForbiddenContext,
        ForbiddenHook,
        HookPort,
        LogRange,
        MessageFilter,
        OffsetStore,
        OffsetStoreContext,
        QueueSelector,
        ReadFrom,
        RpcHook,
        SendContext,
        SendHook,
    )
    from mqframe.hooks.manager import PluginManager
    from mqframe.hooks.specs import hookimpl
    from mqframe.nameserver.server import NameServer
    from mqframe.nameserver.settings import NameServerSettings
    from mqframe.net.settings import NetSettings
    from mqframe.store.reader import StoreReader
    from mqframe.store.settings import StoreSettings

__version__ = "0.1.0"

_ERRORS = (
    "AccessError AnswerError CallTimeout ClosedError ConnectError ConnectionLost FixError GiveUpError"
    " MessageError MqframeError PluginError ReceiptError Refusal RequestTimeout RetryError RouteError"
    " SettingError StoreError TlsError TooMuchInFlight"
)
_INTERFACES = (
    "AllocationStrategy ConsumeContext ConsumeHook Dispatcher Forbidden ForbiddenContext ForbiddenHook"
    " HookPort LogRange MessageFilter OffsetStore OffsetStoreContext QueueSelector ReadFrom RpcHook"
    " SendContext SendHook"
)
_HOME = {
    name: f"mqframe.{module}"
    for module, names in {
        "broker.broker": "Broker",
        "broker.settings": "BrokerSettings",
        "client.admin": "AsyncAdmin",
        "client.batch_transaction_producer": "AsyncBatchTransactionProducer BatchTransactionProducer",
        "client.blocking_admin": "Admin",
        "client.blocking_producer": "Producer",
        "client.blocking_lite_pull_consumer": "LitePullConsumer",
        "client.blocking_pull": "BlockingPuller Puller",
        "client.blocking_push_consumer": "PushConsumer",
        "client.blocking_simple_consumer": "SimpleConsumer",
        "client.lite_pull_consumer": "AsyncLitePullConsumer",
        "client.lite_pull_settings": "LitePullSettings",
        "client.blocking_transaction_producer": "Transaction TransactionProducer",
        "client.transaction_listener": "HalfMessage TransactionListener TransactionSendResult",
        "client.transaction_producer": "AsyncTransaction AsyncTransactionProducer",
        "client.transaction_record": "DatabaseOutcome",
        "core.topic_growth": "TopicGrowth",
        "core.transaction_outcome": "TransactionOutcome",
        "client.producer": "AsyncProducer",
        "client.pull": "AsyncPuller",
        "client.consumer_settings": "ConsumerSettings",
        "client.push_consumer": "AsyncPushConsumer",
        "client.settings": "ClientSettings ProducerSettings",
        "client.simple_consumer": "AsyncSimpleConsumer",
        "core.consume_result": "ConsumeResult",
        "core.dead_letter_rules": "DeadLetter",
        "core.errors": _ERRORS,
        "core.half_batch": "EndStatus EndsUnfinished PreparedHalf",
        "core.message": "Message MessageQueue ReceivedMessage SendResult SendStatus",
        "core.message_choice": "Sql",
        "core.popped": "PoppedMessage",
        "core.pull": "PullResult PullStatus",
        "core.request_reply": "ReplyMessage reply_to",
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

__all__ = [
    "AccessError",
    "Admin",
    "AllocationStrategy",
    "AnswerError",
    "AsyncAdmin",
    "AsyncBatchTransactionProducer",
    "AsyncLitePullConsumer",
    "AsyncProducer",
    "AsyncPuller",
    "AsyncPushConsumer",
    "AsyncSimpleConsumer",
    "AsyncTransaction",
    "AsyncTransactionProducer",
    "BatchTransactionProducer",
    "BlockingPuller",
    "Broker",
    "BrokerSettings",
    "CallTimeout",
    "ClientSettings",
    "ClosedError",
    "ConnectError",
    "ConnectionLost",
    "ConsumeContext",
    "ConsumeHook",
    "ConsumeResult",
    "ConsumerSettings",
    "DatabaseOutcome",
    "DeadLetter",
    "Dispatcher",
    "EndStatus",
    "EndsUnfinished",
    "FixError",
    "Forbidden",
    "ForbiddenContext",
    "ForbiddenHook",
    "GiveUpError",
    "HalfMessage",
    "HookPort",
    "LitePullConsumer",
    "LitePullSettings",
    "LogRange",
    "Message",
    "MessageError",
    "MessageFilter",
    "MessageQueue",
    "MqframeError",
    "NameServer",
    "NameServerSettings",
    "NetSettings",
    "OffsetStore",
    "OffsetStoreContext",
    "PluginError",
    "PluginManager",
    "PoppedMessage",
    "PreparedHalf",
    "Producer",
    "ProducerSettings",
    "PullResult",
    "PullStatus",
    "Puller",
    "PushConsumer",
    "QueueSelector",
    "ReadFrom",
    "ReceiptError",
    "ReceivedMessage",
    "Refusal",
    "ReplyMessage",
    "RequestTimeout",
    "RetryError",
    "RouteError",
    "RpcHook",
    "SendContext",
    "SendHook",
    "SendResult",
    "SendStatus",
    "SettingError",
    "SimpleConsumer",
    "Sql",
    "StoreError",
    "StoreReader",
    "StoreSettings",
    "TlsError",
    "TooMuchInFlight",
    "TopicGrowth",
    "Transaction",
    "TransactionListener",
    "TransactionOutcome",
    "TransactionProducer",
    "TransactionSendResult",
    "__version__",
    "hookimpl",
    "reply_to",
]


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'mqframe' has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
