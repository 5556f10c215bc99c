"""What all topics hold, asked for at once: one question for each broker, not one for each topic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import attrs
from mqframe_admin.bodies import TopicOffset, TopicTotal

from mqframe.core.errors import MqframeError
from mqframe.core.messages.message import MessageQueue
from mqframe_dashboard.asking import Asking

ASKED_MAX: Final = 500
"""Topics that are asked for one by one, the first by name, where a broker does not tell of all at once."""


@attrs.frozen
class HeldTotals:
    """What is held by topic, of all brokers together.

    `silent`: brokers that did not answer, so that topics may hold more; `one_by_one`: some broker does not
    tell of all at once, so that only the first `ASKED_MAX` topics are here, less those that `failed`;
    `stale`: something happened since that nobody saw.
    """

    topics: Mapping[str, TopicTotal]
    silent: Mapping[str, MqframeError] = attrs.field(factory=dict)
    one_by_one: bool = False
    failed: frozenset[str] = frozenset()
    stale: bool = False


async def all_totals(asking: Asking, masters: Mapping[str, str]) -> HeldTotals:
    """What `masters`, addresses by broker name, hold. Raises as `Asking.ask`."""
    answers = await asking.ask_each(asking.admin.topics.totals, masters.values())
    told = {name: answers[address] for name, address in masters.items()}
    silent = {name: found for name, found in told.items() if isinstance(found, MqframeError)}
    if any(found is None for found in told.values()):
        return await _one_by_one(asking, silent)
    topics: dict[str, TopicTotal] = {}
    for found in told.values():
        if found is None or isinstance(found, MqframeError):
            continue
        for topic, total in found.items():
            before = topics.get(topic)
            if before is None:
                topics[topic] = total
            else:
                topics[topic] = TopicTotal(*map(sum, zip(before, total, strict=True)))
    return HeldTotals(topics, silent)


async def _one_by_one(asking: Asking, silent: Mapping[str, MqframeError]) -> HeldTotals:
    names = (await asking.ask(asking.admin.topics.list))[:ASKED_MAX]
    found = await asking.ask_each(asking.admin.topics.stats, names)
    topics = {topic: _sum(stats) for topic, stats in found.items() if not isinstance(stats, MqframeError)}
    return HeldTotals(topics, silent, one_by_one=True, failed=frozenset(names) - topics.keys())


def _sum(stats: Mapping[MessageQueue, TopicOffset]) -> TopicTotal:
    return TopicTotal(
        len(stats),
        sum(each.max_offset for each in stats.values()),
        sum(each.max_offset - each.min_offset for each in stats.values()),
    )
