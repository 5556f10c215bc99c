"""What a popped message carries: its receipt handle, and the texts of a pop answer that it is made from.

A handle is eight words: start offset and time of the pop, invisible time (ms), revive queue, retry mark,
broker name, queue id, queue offset. Source: ExtraInfoUtil.java, KeyBuilder.java.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from mqframe.core.errors import FixError
from mqframe.core.messages.names import RETRY_PREFIX
from mqframe_pop.rules.retry_topics import pop_retry_topic

ORDER_REVIVE_QUEUE: Final = 999
"""Revive queue of ordered pops, which the queue's order block brings back."""
NORMAL: Final = "0"
RETRY_V1: Final = "1"
RETRY_V2: Final = "2"

_OFFSET_KEY: Final = "qo"


class HandleError(FixError):
    """A text that is no receipt handle, or no part of a pop answer; the message says what is wrong."""


class ReceiptHandle(NamedTuple):
    """Which delivery of a message is meant. Offsets count messages of the queue, times are ms.

    `start_offset`: where the pop began; `mark`: which topic it read (`retry_mark`); `offset`: the message's
    own, -1 where the sender left it out.
    """

    start_offset: int
    pop_time: int
    invisible_time: int
    revive_queue: int
    mark: str
    broker_name: str
    queue_id: int
    offset: int = -1

    @classmethod
    def parse(cls, text: str) -> ReceiptHandle:
        """Raises `HandleError` for a text that is no handle."""
        words = text.split(" ")
        try:
            start, pop_time, invisible, revive, mark, broker, queue, *rest = words
            handle = cls(
                int(start), int(pop_time), int(invisible), int(revive), mark, broker, int(queue),
                int(rest[0]) if rest else -1,
            )  # fmt: skip
        except ValueError:
            raise HandleError(
                f"receipt handle {text[:120]!r} is not one: 7 or 8 words are expected, broker's and mark's "
                "apart numbers; hand back the POP_CK property of the message as it came"
            ) from None
        if mark not in (NORMAL, RETRY_V1, RETRY_V2) or len(words) > 8:
            raise HandleError(f"receipt handle {text[:120]!r} is not one of a popped message")
        return handle

    @property
    def text(self) -> str:
        """The handle as it travels; without the last word when `offset` is -1."""
        start, popped, invisible, revive, mark, broker, queue, offset = self
        text = f"{start} {popped} {invisible} {revive} {mark} {broker} {queue}"
        return f"{text} {offset}" if offset >= 0 else text

    @property
    def ordered(self) -> bool:
        """Whether the message was popped in order."""
        return self.revive_queue == ORDER_REVIVE_QUEUE

    @property
    def visible_at(self) -> int:
        """When the message comes back unless it is acknowledged before, ms."""
        return self.pop_time + self.invisible_time

    def real_topic(self, topic: str, group: str) -> str:
        """The topic that was popped when `topic` was asked for."""
        return real_topic(topic, group, self.mark)


# Topics


def retry_mark(topic: str) -> str:
    """The mark that tells in a handle whether `topic` is a retry topic, and of which form."""
    if not topic.startswith(RETRY_PREFIX):
        return NORMAL
    return RETRY_V2 if "+" in topic else RETRY_V1


def real_topic(topic: str, group: str, mark: str) -> str:
    """The topic that `mark` makes of `topic`. Raises `HandleError` for an unknown mark."""
    if mark == NORMAL:
        return topic
    if mark == RETRY_V1:
        return pop_retry_topic(topic, group)
    if mark == RETRY_V2:
        return pop_retry_topic(topic, group, v2=True)
    raise HandleError(f"retry mark {mark!r} is none of 0, 1 and 2")


# The texts of a pop answer


def queue_text(mark: str, queue_id: int, number: int) -> str:
    """One piece of `PopAnswer.start_offset_info`, or of `order_count_info`: how often all messages of a queue
    came before, at least. Pieces are joined by semicolons, as all below."""
    return f"{mark} {queue_id} {number}"


def message_offsets_text(mark: str, queue_id: int, offsets: Sequence[int]) -> str:
    """One piece of `PopAnswer.msg_offset_info`: which messages of a queue there are."""
    return f"{mark} {queue_id} {','.join(map(str, offsets))}"


def offset_count_text(mark: str, queue_id: int, offset: int, count: int) -> str:
    """One piece of `PopAnswer.order_count_info`: how often one message came before."""
    return f"{mark} {_OFFSET_KEY}{queue_id}%{offset} {count}"


def parse_start_offsets(text: str | None) -> dict[tuple[str, int], int]:
    """Start offset by (mark, queue id). Raises `HandleError`."""
    return {(mark, _number(queue, text)): _number(value, text) for mark, queue, value in _pieces(text)}


def parse_message_offsets(text: str | None) -> dict[tuple[str, int], list[int]]:
    """Queue offsets of the messages by (mark, queue id). Raises `HandleError`."""
    return {
        (mark, _number(queue, text)): [_number(offset, text) for offset in value.split(",")]
        for mark, queue, value in _pieces(text)
    }


def parse_order_counts(
    text: str | None,
) -> tuple[dict[tuple[str, int], int], dict[tuple[str, int, int], int]]:
    """How often messages came before: by (mark, queue id), and by (mark, queue id, offset).

    The second, where it has the message, is the one to use. Raises `HandleError`.
    """
    queues: dict[tuple[str, int], int] = {}
    messages: dict[tuple[str, int, int], int] = {}
    for mark, key, value in _pieces(text):
        if key.startswith(_OFFSET_KEY):
            queue, _, offset = key.removeprefix(_OFFSET_KEY).partition("%")
            messages[mark, _number(queue, text), _number(offset, text)] = _number(value, text)
        else:
            queues[mark, _number(key, text)] = _number(value, text)
    return queues, messages


def _pieces(text: str | None) -> list[tuple[str, str, str]]:
    found: list[tuple[str, str, str]] = []
    seen: set[tuple[str, str]] = set()
    for piece in (text or "").split(";"):
        if not piece:
            continue
        words = piece.split(" ")
        if len(words) != 3 or (words[0], words[1]) in seen:
            raise HandleError(f"pop answer: {text!r} is not a list of different queues with their offsets")
        seen.add((words[0], words[1]))
        found.append((words[0], words[1], words[2]))
    return found


def _number(word: str, text: str | None) -> int:
    try:
        return int(word)
    except ValueError:
        raise HandleError(f"pop answer: {word!r} in {text!r} is not a number") from None
