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
    from mqframe.client.blocking_admin import Admin
    from mqframe.client.blocking_producer import Producer
    from mqframe.client.blocking_pull import BlockingPuller
    from mqframe.client.blocking_push_consumer import PushConsumer
    from mqframe.client.consumer_settings import ConsumerSettings
    from mqframe.client.producer import AsyncProducer
    from mqframe.client.push_consumer import AsyncPushConsumer
    from mqframe.client.settings import ClientSettings, ProducerSettings
    from mqframe.core.consume_result import ConsumeResult
    from mqframe.core.errors import (
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
        Refusal,
        RetryError,
        RouteError,
        SettingError,
        StoreError,
        TooMuchInFlight,
    )
    from mqframe.core.message import Message, MessageQueue, ReceivedMessage, SendResult, SendStatus
    from mqframe.core.message_choice import Sql
    from mqframe.hooks.interfaces import (
        AllocationStrategy,
        ConsumeContext,
        ConsumeHook,
        Dispatcher,
        Forbidden,
        ForbiddenContext,
        ForbiddenHook,
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
    "AnswerError CallTimeout ClosedError ConnectError ConnectionLost FixError GiveUpError MessageError"
    " MqframeError PluginError Refusal RetryError RouteError SettingError StoreError TooMuchInFlight"
)
_INTERFACES = (
    "AllocationStrategy ConsumeContext ConsumeHook Dispatcher Forbidden ForbiddenContext ForbiddenHook"
    " LogRange MessageFilter OffsetStore OffsetStoreContext QueueSelector ReadFrom RpcHook SendContext"
    " SendHook"
)
_HOME = {
    name: f"mqframe.{module}"
    for module, names in {
        "broker.broker": "Broker",
        "broker.settings": "BrokerSettings",
        "client.admin": "AsyncAdmin",
        "client.blocking_admin": "Admin",
        "client.blocking_producer": "Producer",
        "client.blocking_pull": "BlockingPuller",
        "client.blocking_push_consumer": "PushConsumer",
        "client.producer": "AsyncProducer",
        "client.consumer_settings": "ConsumerSettings",
        "client.push_consumer": "AsyncPushConsumer",
        "client.settings": "ClientSettings ProducerSettings",
        "core.consume_result": "ConsumeResult",
        "core.errors": _ERRORS,
        "core.message": "Message MessageQueue ReceivedMessage SendResult SendStatus",
        "core.message_choice": "Sql",
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
    "Admin",
    "AllocationStrategy",
    "AnswerError",
    "AsyncAdmin",
    "AsyncProducer",
    "AsyncPushConsumer",
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
    "Dispatcher",
    "FixError",
    "Forbidden",
    "ForbiddenContext",
    "ForbiddenHook",
    "GiveUpError",
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
    "Producer",
    "ProducerSettings",
    "PushConsumer",
    "QueueSelector",
    "ReadFrom",
    "ReceivedMessage",
    "Refusal",
    "RetryError",
    "RouteError",
    "RpcHook",
    "SendContext",
    "SendHook",
    "SendResult",
    "SendStatus",
    "SettingError",
    "Sql",
    "StoreError",
    "StoreReader",
    "StoreSettings",
    "TooMuchInFlight",
    "__version__",
    "hookimpl",
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
