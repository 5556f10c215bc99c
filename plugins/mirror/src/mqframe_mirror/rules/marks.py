"""What a copy says of itself: where its message lies at the source, and which clusters it has passed.

Both are properties, so that they lie where the copy lies: whoever reads the target's queues knows how far a
mirror is, and which copies are of which messages, whatever was lost elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from mqframe_admin.rules.dead_letters import MARK, NOTED_ON_THE_WAY

from mqframe.core.messages import properties as p
from mqframe.core.messages.names import GROUP_LENGTH_MAX
from mqframe.core.retry.policy import DEAD_LETTER_REASON

SOURCE: Final = "MQFRAME_MIRROR_SOURCE"
"""Property of a copy: "cluster/broker/queue id/offset/time", the place of its message at the source, and when
that was made, ms since 1970."""
SOURCE_BYTES: Final = SOURCE.encode()
PATH: Final = "MQFRAME_MIRROR_PATH"
"""Property of a copy: the clusters that it has passed, the first one first, joined by commas."""
KEY: Final = "MQFRAME_MIRROR_KEY"
"""Property of a copy that could not keep its message's unique key: that key."""
LEFT_OUT: Final = (NOTED_ON_THE_WAY - {MARK, DEAD_LETTER_REASON}).union(
    (
        p.CHECK_TIMES,
        p.CHECK_IMMUNITY_SECONDS,
        p.PREPARED_QUEUE_OFFSET,
        p.TRANSACTION_ID,
        p.PRODUCER_GROUP,
        p.HALF_BATCH,
        p.ORIGIN_MESSAGE_ID,
        p.FIRST_POP_TIME,
        p.TIMER_OUT_MS,
        p.TIMER_DELETE_KEY,
        p.ARRIVE_TIME,
        p.INNER_NUM,
        "INNER_BASE",
        "INNER_MULTI_DISPATCH",
        "INNER_MULTI_QUEUE_OFFSET",
        "POP_CK_OFFSET",
        "TIMER_DELAY_LEVEL",
        "TRANSFER_FLAG",
        "CORRECTION_FLAG",
        "MQ2_FLAG",
        "DUP_INFO",
        "PROPERTY_FORWARD_QUEUE_ID",
        "REDIRECT",
        "__CRC32#",
    )
)
"""What brokers noted of a message on its way to the queue: that way is over, and a broker that reads it again
would act on it once more."""
_FIELDS: Final = 5


class Mark(NamedTuple):
    """The place of a copy's message: `offset` in queue `queue_id` of `broker` of `cluster`.

    `born_ms`: when its sender made it, ms since 1970.
    """

    cluster: str
    broker: str
    queue_id: int
    offset: int
    born_ms: int

    def __str__(self) -> str:
        return f"{self.cluster}/{self.broker}/{self.queue_id}/{self.offset}/{self.born_ms}"

    @property
    def lane(self) -> tuple[str, int]:
        """The source's queue: its broker, and its id."""
        return self.broker, self.queue_id


def mark_of(properties: Mapping[str, str]) -> Mark | None:
    """The mark of a copy; `None` for a message that is none, or says what no mirror says."""
    cluster, found, rest = properties.get(SOURCE, "").partition("/")
    parts = rest.rsplit("/", _FIELDS - 2)
    if not found or len(parts) != _FIELDS - 1:
        return None
    try:
        queue_id, offset, born_ms = map(int, parts[1:])
    except ValueError:
        return None
    return Mark(cluster, parts[0], queue_id, offset, born_ms)


def passed(properties: Mapping[str, str]) -> tuple[str, ...]:
    """The clusters that a message has passed, the first one first; none for one that was sent here."""
    return tuple(name for name in properties.get(PATH, "").split(",") if name)


def may_pass(properties: Mapping[str, str], target: str) -> bool:
    """Whether a message may be copied to the cluster `target`: not where it has been before."""
    return target not in passed(properties)


def copied_properties(properties: Mapping[str, str], message_id: str, mark: Mark) -> dict[str, str]:
    """The properties of the copy of a message that lies at `mark`.

    Keys, tag, the sender's own and those that say how it is to be handled stay; the copy has the message's
    unique key, by which both are known as one.
    """
    kept = {name: value for name, value in properties.items() if name not in LEFT_OUT}
    kept[p.UNIQUE_KEY] = message_id
    kept[SOURCE] = str(mark)
    kept[PATH] = ",".join((*passed(properties), mark.cluster))
    return kept


def key_of(properties: Mapping[str, str]) -> str:
    """The unique key of the message that a copy is of, or of a message that is none."""
    return properties.get(KEY) or properties.get(p.UNIQUE_KEY, "")


def alone(properties: Mapping[str, str]) -> dict[str, str]:
    """Those of a copy's properties that any sender may set, without tag and keys.

    For a copy that cannot travel in a batch: it gets a unique key of its own, and says the message's.
    """
    kept = {name: value for name, value in properties.items() if name not in p.RESERVED}
    return {**kept, KEY: properties[p.UNIQUE_KEY]}


def is_cluster_name(name: str) -> bool:
    """Whether a mirror can call a cluster `name`: it stands in paths, in marks and in names of groups."""
    plain = name.replace("-", "").replace("_", "")
    return plain.isascii() and plain.isalnum() and len(name) <= GROUP_LENGTH_MAX // 3


MIRROR_PREFIX: Final = "mirror-"
"""How groups of mirrors begin."""


def mirror_group(source: str, target: str) -> str:
    """The consumer group by which brokers keep the progress of the mirror from `source` to `target`."""
    return f"{MIRROR_PREFIX}{source}-{target}"
