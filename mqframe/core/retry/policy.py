"""What becomes of a message whose consumer failed: when it comes again, and when it is given up.

A message is in one of these states; n is how often it came back (`reconsume_times`), m the maximum:

    fresh, n = 0      --failed, n < m-->    waits, n + 1     level 3 + n, or as the group's policy has it
    delivered again   --failed, n < m-->    waits, n + 1
    either            --failed, n >= m-->   dead, n + 1
    either            --level < 0-->        dead, n + 1      the listener gave it up at once
    either            --level > 0-->        waits, n + 1     at that level, if n < m
    waits             --time-->             delivered again

Sources: AbstractSendMessageProcessor.consumerSendMsgBack, DefaultMQPushConsumerImpl, GroupRetryPolicy.java.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from mqframe.core.messages import properties as p
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.messages.names import retry_topic
from mqframe.core.messages.sent_properties import OF_RETURNS, came_back
from mqframe.core.retry.redelivery import retry_level, retry_wait

RETRIES_MAX: Final = 16
"""How often a message comes back where neither group nor consumer say otherwise."""
LIMIT_IN_REQUEST_VERSION: Final = 121
"""From here on (3.4.9) the maximum in a client's request counts."""
TIMER_NAMES: Final = frozenset(
    """TIMER_DELAY_SEC TIMER_DELAY_MS TIMER_DELIVER_MS TIMER_OUT_MS TIMER_ENQUEUE_MS TIMER_DEQUEUE_MS
    TIMER_ROLL_TIMES TIMER_DELAY_LEVEL TIMER_DEL_UNIQKEY""".split()
)
"""Properties that say when a message is or was to be delivered, beside its level."""
DEAD_LETTER_REASON: Final = "MQFRAME_REASON"
"""Property of a dead letter: why it was given up, where its consumer knew."""


class Verdict(NamedTuple):
    """What becomes of a failed message.

    `dead`: it goes to the dead letters. Else it waits: at delay level `level`, or, where that is 0, for
    `delay_ms` milliseconds.
    """

    dead: bool
    level: int = 0
    delay_ms: int = 0


DEAD: Final = Verdict(True)


def verdict(
    reconsume_times: int,
    delay_level: int,
    limit: int,
    schedule: tuple[int, ...] | None = None,
    levels: tuple[int, ...] = (),
) -> Verdict:
    """Decide over a message that has come back `reconsume_times` times.

    `delay_level`: what its consumer asks for: negative gives it up, 0 leaves the choice to the group.
    `schedule`: the group's waits, ms (`retry_schedule`); `levels`: what the broker's levels stand for, ms.
    """
    if delay_level < 0 or reconsume_times >= limit:
        return DEAD
    if delay_level > 0:
        return Verdict(False, delay_level)
    if schedule is None:
        return Verdict(False, retry_level(reconsume_times))
    delay = retry_wait(schedule, reconsume_times)
    if delay in levels:
        return Verdict(False, levels.index(delay) + 1)
    return Verdict(False, 0, delay)


def limit_in_request(version: int, named: int | None) -> int | None:
    """The maximum that a client of `version` names; `None` when it names none, or is too old for that."""
    return named if version >= LIMIT_IN_REQUEST_VERSION else None


class MemberLimits:
    """Whose maximum counts in a group whose members name different ones: that of the member started last.

    Brokers learn a member's maximum with the first message that it hands back, so until a newer member has
    done so the one before it counts. Of each group, by client id:

        absent  --seen in the group-->       silent     in the order of joining
        silent  --sent back with m-->        named m
        named   --sent back with m'-->       named m'
        silent, named  --not in the group--> absent
    """

    __slots__ = ("_groups",)

    def __init__(self) -> None:
        self._groups: dict[str, dict[str, int | None]] = {}

    def limit(self, group: str, members: Iterable[str], client_id: str, named: int | None) -> int | None:
        """The maximum of `group` now that `client_id` names `named`; `None` when no member named one.

        `members`: client ids in the order in which they joined. A stranger's word counts for itself alone.
        """
        present = dict.fromkeys(members)
        known = self._groups.setdefault(group, {})
        for gone in [member for member in known if member not in present]:
            del known[gone]
        for member in present:
            known.setdefault(member, None)
        if not known:
            del self._groups[group]
        if client_id not in known:
            return named
        if named is not None:
            known[client_id] = named
        return next((word for word in reversed(known.values()) if word is not None), None)


# Copies


def copied_properties(
    properties: Mapping[str, str], topic: str, offset_message_id: str, what: Verdict
) -> dict[str, str]:
    """Properties of the copy that a broker stores of a failed message of `topic`.

    What names its first copy is kept through all returns: the original topic and the original id; a message
    that never came back is its own first copy, whatever its sender says. Words about an earlier delivery time
    are gone, since this one replaces them.
    """
    copied = {name: value for name, value in properties.items() if name not in TIMER_NAMES}
    if not came_back(properties, topic):
        copied = {name: value for name, value in copied.items() if name not in OF_RETURNS}
    copied.setdefault(p.RETRY_TOPIC, topic)
    copied[p.WAIT] = "false"
    if not copied.get(p.ORIGIN_MESSAGE_ID, "").strip():
        copied[p.ORIGIN_MESSAGE_ID] = offset_message_id
    if what.delay_ms:
        copied.pop(p.DELAY, None)
        copied[p.TIMER_DELAY_MS] = str(what.delay_ms)
    else:
        copied[p.DELAY] = str(what.level)
    return copied


def resent_properties(
    message: ReceivedMessage, delay_level: int, times: int, limit: int | None
) -> dict[str, str]:
    """Properties of the copy that a client itself sends to its group's retry topic.

    `times`: how often the copy came back then; `limit`: the consumer's maximum; `None`
    where its group's counts.
    """
    level = delay_level if delay_level > 0 else retry_level(message.reconsume_times)
    copied = copied_properties(
        message.properties, message.topic, message.offset_message_id, Verdict(False, level)
    )
    copied.pop(p.TRANSACTION_PREPARED, None)
    copied[p.RECONSUME_TIME] = str(times)
    if limit is None:
        copied.pop(p.MAX_RECONSUME_TIMES, None)
    else:
        copied[p.MAX_RECONSUME_TIMES] = str(limit)
    return copied


def restore_topic(message: ReceivedMessage, group: str) -> None:
    """Give a message that came back through the retry topic of `group` the topic that it was sent to.

    To be called before hooks or listeners see it (DefaultMQPushConsumerImpl.resetRetryAndNamespace).
    """
    if message.topic == retry_topic(group):
        message.topic = message.properties.get(p.RETRY_TOPIC) or message.topic
