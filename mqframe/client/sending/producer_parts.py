"""What both faces of the producer are made of."""

from __future__ import annotations

import os
from collections.abc import Sequence

from mqframe.client.identity import packed_ip
from mqframe.client.load import Loader
from mqframe.client.send import Randomness, Sender
from mqframe.client.send_port import SendPort
from mqframe.client.settings import ProducerSettings
from mqframe.core.clock import Clock
from mqframe.core.compression import Compression, compress
from mqframe.core.errors import MessageError
from mqframe.core.fault_latency import FaultLatency
from mqframe.core.ids import UniqueIds
from mqframe.core.message import Message, MessageQueue
from mqframe.core.route import TopicRoute
from mqframe.core.send_rules import NEVER, RetryRules, awaited_rules, submitted_rules
from mqframe.core.topics import check_group
from mqframe.hooks.interfaces import ForbiddenHook, QueueSelector, RpcHook, SendHook
from mqframe.hooks.manager import PluginManager, default_manager

DEFAULT_SELECTOR = "hash"


class ProducerParts:
    """Settings, strategies and hooks of one producer, resolved when it is made.

    Raises `PluginError` for a name that is not installed, `SettingError`, and `MessageError` for an illegal
    group name.
    """

    def __init__(
        self,
        group: str,
        settings: ProducerSettings | None,
        *,
        selector: object,
        send_hooks: Sequence[object],
        forbidden_hooks: Sequence[object],
        rpc_hooks: Sequence[object],
        plugins: PluginManager | None,
    ) -> None:
        check_group(group)
        self.group = group
        self.settings = settings or ProducerSettings()
        self._plugins = plugins or default_manager()
        self._selector: QueueSelector | None = None
        if selector is not None:
            self._selector = self._plugins.create("selector", selector)
        self._selectors: dict[str, QueueSelector] = {}
        self.send_hooks: tuple[SendHook, ...] = self._plugins.create_all("send_hook", send_hooks)
        self.forbidden_hooks: tuple[ForbiddenHook, ...] = self._plugins.create_all(
            "forbidden_hook", forbidden_hooks
        )
        self.rpc_hooks: tuple[RpcHook, ...] = self._plugins.create_all("rpc_hook", rpc_hooks)
        self.compression = Compression[self.settings.compression.upper()]
        compress(b"tried once, so that a missing package shows at construction", self.compression)
        self.awaited: RetryRules = awaited_rules(
            self.settings.retries_sync,
            self.settings.retry_codes,
            not_store_ok=self.settings.retry_another_broker_when_not_store_ok,
        )
        self.submitted: RetryRules = submitted_rules(self.settings.retries_async)

    def sender(self, port: SendPort, clock: Clock, randomness: Randomness, ip: str, *, vip: bool) -> Sender:
        """The send template over `port`. `ip`: goes into unique ids."""
        settings = self.settings
        loader = Loader(
            self.group,
            UniqueIds(clock, packed_ip(ip), os.getpid(), randomness.randrange(1 << 32)),
            default_topic=settings.default_topic,
            default_topic_queues=settings.default_topic_queues,
            body_bytes_max=settings.body_bytes_max,
            compress_over_bytes=settings.compress_over_bytes,
            compression=self.compression,
            compression_level=settings.compression_level,
        )
        return Sender(
            self.group,
            port,
            clock,
            randomness,
            loader,
            hooks=self.send_hooks,
            forbidden=self.forbidden_hooks,
            faults=FaultLatency(clock) if settings.latency_faults else None,
            try_timeout_seconds=settings.try_timeout_seconds,
            vip=vip,
        )

    def fixed_queue(
        self,
        route: TopicRoute,
        message: Message,
        queue: MessageQueue | None,
        selector: object,
        sharding_key: object,
    ) -> MessageQueue | None:
        """The queue that the caller bound `message` to; `None` when it is free to go anywhere.

        Raises `MessageError` for a queue of another topic, `PluginError` for an unknown selector.
        """
        if queue is not None:
            if selector is not None or sharding_key is not None:
                raise MessageError("a queue is given already; leave selector and sharding_key out")
            if queue.topic != message.topic:
                raise MessageError(f"queue {queue} is not of topic {message.topic}")
            return queue
        if selector is None and sharding_key is None:
            return None
        return Sender.select(route, message, self._resolve(selector), sharding_key)

    def rules(self, fixed: MessageQueue | None) -> RetryRules:
        """What is tried again of an awaited send."""
        return self.awaited if fixed is None else NEVER

    def _resolve(self, selector: object) -> QueueSelector:
        if selector is None:
            if self._selector is None:
                self._selector = self._plugins.create("selector", DEFAULT_SELECTOR)
            return self._selector
        if isinstance(selector, str):
            found = self._selectors.get(selector)
            if found is None:
                found = self._selectors[selector] = self._plugins.create("selector", selector)
            return found
        if isinstance(selector, QueueSelector):
            return selector
        made: QueueSelector = self._plugins.create("selector", selector)
        return made
