"""Properties of messages as text: those by which brokers steer, with values that fit and that do not."""

from __future__ import annotations

from random import Random

from fuzz import values

from mqframe.core.messages import properties as p

_NUMBERS = (
    p.DELAY, p.REAL_QUEUE_ID, p.CHECK_TIMES, p.CHECK_IMMUNITY_SECONDS, p.PREPARED_QUEUE_OFFSET, p.HALF_BATCH,
    p.RECONSUME_TIME, p.MAX_RECONSUME_TIMES, p.INNER_NUM, p.TTL, p.TIMER_DELAY_SEC, p.TIMER_DELAY_MS,
    p.TIMER_DELIVER_MS, p.TIMER_OUT_MS, p.TIMER_ENQUEUE_MS, p.TIMER_DEQUEUE_MS, p.TIMER_ROLL_TIMES,
    p.BORN_TIMESTAMP, p.ARRIVE_TIME, p.MIN_OFFSET, p.MAX_OFFSET, "TIMER_DELAY_LEVEL", "POP_CK_OFFSET",
    "1ST_POP_TIME", "INNER_BASE",
)  # fmt: skip
_NAMES = (p.REAL_TOPIC, p.RETRY_TOPIC, p.PRODUCER_GROUP, "DLQ_ORIGIN_TOPIC", p.CLUSTER, p.REPLY_TO_CLIENT)
_TEXTS = (
    p.KEYS, p.TAGS, p.WAIT, p.TRANSACTION_ID, p.ORIGIN_MESSAGE_ID, p.UNIQUE_KEY, p.SHARDING_KEY,
    p.POP_CHECK_POINT, p.CORRELATION_ID, p.MESSAGE_TYPE, p.TIMER_DELETE_KEY, p.INSTANCE_ID, "a", "b",
    "INNER_MULTI_DISPATCH", "INNER_MULTI_QUEUE_OFFSET", "__CRC32#", "DLQ_ORIGIN_MESSAGE_ID",
)  # fmt: skip


def some_properties(chance: Random, odd: float) -> dict[str, str]:
    """A few properties, never one of each kind only."""
    made = {}
    for _ in range(chance.choice((0, 1, 1, 2, 3, 6))):
        which = chance.random()
        if which < 0.45:
            made[chance.choice(_NUMBERS)] = _number(chance, odd)
        elif which < 0.65:
            name = chance.choice(_NAMES)
            made[name] = (values.group if name == p.PRODUCER_GROUP else values.topic)(chance, odd)
        elif which < 0.75:
            made[p.TRANSACTION_PREPARED] = chance.choice(("true", "false", "x"))
            made[p.PRODUCER_GROUP] = values.group(chance, odd)
        else:
            made[chance.choice(_TEXTS)] = values.text(chance) if values.flip(chance, odd) else "k"
    return made


def _number(chance: Random, odd: float) -> str:
    if values.flip(chance, odd):
        return values.number_text(chance)
    return str(chance.choice((0, 1, 2, 3, 5, 18, 19, 1000, 5000, 1_700_000_100_000)))


def properties_text(chance: Random, odd: float) -> str:
    """The text form, sometimes cut or with marks at the wrong places."""
    pairs = list(some_properties(chance, odd).items())
    if values.flip(chance, 0.5):
        pairs.append((p.UNIQUE_KEY, f"7F00000100002A9F{chance.getrandbits(64):016X}"))
    text = "".join(f"{name}\x01{value}\x02" for name, value in pairs)
    if values.flip(chance, odd * 0.3):
        at = chance.randrange(len(text) + 1)
        text = chance.choice(
            (text[:at], text[:at] + "\x01" + text[at:], text[:at] + "\x02" + text[at:], text * 2)
        )
    if values.flip(chance, odd * 0.05):
        text += f"big\x01{'z' * chance.choice((32_000, 32_767, 40_000))}\x02"
    return text
