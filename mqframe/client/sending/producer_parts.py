"""Settings, strategies and hooks that producers of both APIs are made of."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

import attrs

from mqframe.client.connection.identity import packed_ip
from mqframe.client.connection.instance import ClientInstance
from mqframe.client.sending.batches import Encoder
from mqframe.client.sending.pipeline import PipelineOptions, Randomness, SendPipeline
from mqframe.client.sending.transport import AsyncTransport, SendTransport
from mqframe.client.settings import ClientSettings, ProducerSettings
from mqframe.core.clock import Clock
from mqframe.core.cluster.route import TopicRoute
from mqframe.core.errors import MessageError
from mqframe.core.messages.compression import Compression, compress
from mqframe.core.messages.ids import UniqueIds
from mqframe.core.messages.message import Message, MessageQueue
from mqframe.core.messages.names import check_group
from mqframe.core.sending.in_flight import InFlightCount
from mqframe.core.sending.queue_choice import FaultLatency
from mqframe.core.sending.retries import BOUND, RetryRules, awaited_rules
from mqframe.hooks.client_parts import part_or
from mqframe.hooks.codecs import Codecs
from mqframe.hooks.interfaces import Codec, ForbiddenHook, QueueSelector, RpcHook, SendHook
from mqframe.hooks.manager import PluginManager
from mqframe.net.clock import LoopClock

DEFAULT_SELECTOR = "hash"


@attrs.frozen(kw_only=True)
class ProducerStrategies:
    """Names, classes or objects of what a producer is to use; nothing is looked up yet."""

    selector: object = None
    codec: object = None
    send_hooks: Sequence[object] = ()
    forbidden_hooks: Sequence[object] = ()
    rpc_hooks: Sequence[object] = ()


class ProducerParts:
    """Settings, strategies and hooks of one producer, resolved when it is made.

    Raises `PluginError` for a name that is not installed, `SettingError`, and `MessageError` for an illegal
    group name.
    """

    def __init__(
        self,
        group: str,
        settings: ProducerSettings | None = None,
        strategies: ProducerStrategies | None = None,
        plugins: PluginManager | None = None,
    ) -> None:
        chosen = strategies or ProducerStrategies()
        check_group(group)
        self.group = group
        self.settings = settings or ProducerSettings()
        self._plugins = plugins or PluginManager()
        self._selector: QueueSelector | None = None
        if chosen.selector is not None:
            self._selector = self._plugins.create("selector", chosen.selector)
        self._by_name: dict[str, Codec] = {}
        self._codecs = Codecs(self._plugins, chosen.codec)
        self._selectors: dict[str, QueueSelector] = {}
        self.send_hooks: tuple[SendHook, ...] = self._plugins.create_all("send_hook", chosen.send_hooks)
        self.forbidden_hooks: tuple[ForbiddenHook, ...] = self._plugins.create_all(
            "forbidden_hook", chosen.forbidden_hooks
        )
        self.rpc_hooks: tuple[RpcHook, ...] = self._plugins.create_all("rpc_hook", chosen.rpc_hooks)
        self.compression = Compression[self.settings.compression.upper()]
        compress(b"tried once, so that a missing package shows at construction", self.compression)
        self.awaited: RetryRules = awaited_rules(
            self.settings.retries_sync,
            self.settings.retry_codes,
            not_store_ok=self.settings.retry_another_broker_when_not_store_ok,
        )

    def pipeline(
        self,
        transport: SendTransport,
        clock: Clock,
        randomness: Randomness,
        ip: str,
        client: ClientSettings,
        client_id: str = "",
    ) -> SendPipeline:
        """The send template over `transport`. `ip`: goes into unique ids; `client_id`: hooks are told it."""
        settings = self.settings
        ids = UniqueIds(clock, packed_ip(ip), os.getpid(), randomness.randrange(1 << 32))
        options = PipelineOptions(
            hooks=self.send_hooks,
            forbidden=self.forbidden_hooks,
            faults=FaultLatency(clock) if settings.latency_faults else None,
            try_timeout_seconds=settings.try_timeout_seconds,
            vip=client.vip_channel,
            client_id=client_id,
        )
        encoder = Encoder(self.group, ids, settings, self.compression, unit_mode=client.unit_mode)
        return SendPipeline(transport, clock, randomness, encoder, options)

    def loop_pipeline(
        self, instance: ClientInstance, clock: LoopClock, randomness: Randomness
    ) -> SendPipeline:
        """The send template on the loop of `instance`."""
        transport = AsyncTransport(
            instance, clock, self.settings.default_topic, self.settings.default_topic_queues
        )
        return self.pipeline(transport, clock, randomness, instance.ip, instance.settings, instance.client_id)

    def in_flight_count(self) -> InFlightCount:
        """The limit of awaited sends; nothing is counted in yet."""
        return InFlightCount(self.settings.in_flight_messages_max, self.settings.in_flight_bytes_max)

    def waiting_count(self) -> InFlightCount:
        """The limit of submitted messages; nothing is counted in yet."""
        count: Callable[[int, int], InFlightCount] = part_or("in_flight_count", InFlightCount)
        return count(self.settings.waiting_messages_max, self.settings.waiting_bytes_max)

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
        return SendPipeline.select(route, message, self._resolve(selector), sharding_key)

    def message(
        self,
        topic: str,
        value: object,
        codec: object,
        tag: str | None,
        keys: Sequence[str],
        properties: Mapping[str, str],
    ) -> Message:
        """A message whose body is `value`. Raises `EncodeError`, `PluginError`, `SettingError`."""
        chosen = self._codecs.of_values
        if codec is not None:
            chosen = self._codec(codec)
        return Message.of(topic, value, codec=chosen, tag=tag, keys=keys, properties=properties)

    def _codec(self, choice: object) -> Codec:
        if not isinstance(choice, str):
            return self._codecs.create(choice)
        found = self._by_name.get(choice)
        if found is None:
            found = self._by_name[choice] = self._codecs.create(choice)
        return found

    def rules(self, fixed: MessageQueue | None) -> RetryRules:
        """What is tried again of an awaited send."""
        return self.awaited if fixed is None else BOUND

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
