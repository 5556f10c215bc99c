"""Delivery at a given time: when, in which slot of the wheel, and what is taken back.

Source: HookUtils.java, TimerMessageStore.java, RecallMessageProcessor.java.

A message asked for at time t waits in the slot that begins before t and ends at or after it; a slot is
delivered when it has ended. So no message comes early, and none later than one precision after its time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mqframe.core.delay.recall_handle import delete_key
from mqframe.core.messages import properties as p
from mqframe.core.messages.whole_numbers import whole_number

NEVER_ENQUEUED: Final = (1 << 63) - 1
"""What TIMER_ENQUEUE_MS says of a message that was due before it got to the wheel."""
RECALL_TAG: Final = "_RECALL_TAG_"
RECALL_BODY: Final = b"0"

OTHER_LIMITS_MS: Final = 366 * 86_400_000
"""By how much the limit of delays may have been higher for whoever stored a message."""


def asked_delay(properties: dict[str, str]) -> int | None:
    """After which time the message wants to be delivered, ms; `None` where it says when instead."""
    for name, factor in ((p.TIMER_DELAY_SEC, 1000), (p.TIMER_DELAY_MS, 1)):
        text = properties.get(name)
        if text is not None:
            number = whole_number(text)
            return None if number is None else max(0, number * factor)
    return None


def slot_time(deliver_ms: int, precision_ms: int) -> int:
    """The time of the slot that is delivered first at or after `deliver_ms`, ms."""
    return (deliver_ms - 1) // precision_ms * precision_ms


def slot_of_write(time_ms: int, precision_ms: int) -> int:
    """The time of the slot that `time_ms` lies in, ms."""
    return time_ms // precision_ms * precision_ms


def placed(out_ms: int, write_ms: int, window_slots: int, precision_ms: int) -> tuple[int, bool]:
    """The slot time (ms) at which a message for slot `out_ms` is put, and whether it has to roll then.

    `write_ms`: time of the slot of now. A wheel reaches `window_slots` ahead. What lies further goes to the
    window's end and rolls; what lies little further than that goes to its middle, so that the next round is
    not a short one.
    """
    window = window_slots * precision_ms
    ahead = out_ms - write_ms
    if ahead < window:
        return out_ms, False
    if ahead - window < window_slots // 3 * precision_ms:
        return write_ms + window_slots // 2 * precision_ms, True
    return write_ms + window, True


def believed_slot(out_ms: int, stored_ms: int, limit_ms: int, round_ms: int) -> int:
    """The slot, ms, in which a message that was stored at `stored_ms` and names slot `out_ms` waits.

    No broker takes a message for a time beyond its limit of delays (`limit_ms`; timerMaxDelaySec). One for
    the year 33658 was written by somebody else, or damaged. RocketMQ stores it anew with each round through
    the wheel, for ever. Here it waits for half a round (`round_ms`, what the wheel reaches), or the limit
    where that is shorter, and is delivered: left out, it would be lost when the log is cleaned up, and no
    sender was ever told that it would come later. What lies up to `OTHER_LIMITS_MS` beyond the limit is
    believed: the limit may have been a higher one when it was sent, and no message comes early.
    """
    if out_ms - stored_ms <= limit_ms + OTHER_LIMITS_MS:
        return out_ms
    return stored_ms + min(limit_ms, round_ms // 2)


def taken_back(recall: Mapping[str, str]) -> str | None:
    """The `delete_key` of what a recall with these properties takes back: a message of its own topic.

    Any producer can give a message the property that makes it a recall; it takes nothing from topics that it
    may not send to.
    """
    key = recall.get(p.TIMER_DELETE_KEY, "")
    return key if key.startswith(delete_key(recall.get(p.REAL_TOPIC, ""), "")) else None


def delivered_properties(
    properties: dict[str, str], *, enqueue_ms: int, now: int, rolls: bool
) -> dict[str, str]:
    """The properties with which a message leaves the wheel: for its topic, or for another round in it.

    The sender's stay, and so does what names the real topic and the slot, which keeps it from waiting again.
    """
    more = {p.TIMER_ENQUEUE_MS: str(enqueue_ms), p.TIMER_DEQUEUE_MS: str(now)}
    if rolls:
        times = whole_number(properties.get(p.TIMER_ROLL_TIMES, "0")) or 0
        more[p.TIMER_ROLL_TIMES] = str(times + 1)
    return properties | more
