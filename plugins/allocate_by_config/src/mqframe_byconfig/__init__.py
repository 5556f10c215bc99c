"""Queues that the configuration names (AllocateMessageQueueByConfig.java)."""

from __future__ import annotations

from collections.abc import Sequence

from mqframe.core.config.settings import setting, settings
from mqframe.core.errors import SettingError
from mqframe.core.messages.message import MessageQueue
from mqframe.hooks.interfaces import AllocationStrategy
from mqframe.hooks.specs import Factories, hookimpl

__all__ = ["ByConfig", "parse_queue", "register_allocation_strategies"]


def parse_queue(text: str) -> MessageQueue:
    """The queue that "topic/broker/queue id" stands for. Raises `SettingError`."""
    topic, _, rest = text.partition("/")
    broker, _, number = rest.rpartition("/")
    if not (topic and broker and number.isascii() and number.isdigit()):
        raise SettingError(f"queue {text!r} of allocation by_config must be written topic/broker/queue id")
    return MessageQueue(topic, broker, int(number))


def _all_parse(texts: Sequence[str]) -> str | None:
    for text in texts:
        parse_queue(text)
    return None if texts else "must name at least one queue"


class ByConfig(AllocationStrategy):
    """Gives the configured queues, whoever else is in the group.

    Unlike the Java strategy it passes over configured queues that the topic does not have, and those of other
    topics, instead of pulling from them.
    """

    wire_name = "CONFIG"

    @settings("plugins.by_config")
    class Options:
        """Which queues."""

        queues: tuple[str, ...] = setting(
            doc='queues of this consumer, each "topic/broker/queue id"', check=_all_parse
        )

    def __init__(self, options: Options) -> None:
        self._queues = [parse_queue(text) for text in options.queues]

    def allocate(
        self, group: str, client_id: str, queues: Sequence[MessageQueue], clients: Sequence[str]
    ) -> list[MessageQueue]:
        """The configured queues among `queues`, in configured order; empty for a stranger."""
        if client_id not in clients:
            return []
        present = set(queues)
        return [queue for queue in self._queues if queue in present]


@hookimpl
def register_allocation_strategies() -> Factories:
    """`by_config`, with the option `queues`."""
    return {"by_config": ByConfig}
