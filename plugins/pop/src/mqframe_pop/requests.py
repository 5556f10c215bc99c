"""Requests of consumers whose progress the broker keeps: pop, acknowledge, change.

`offset` and `start_offset` count messages of a queue; `*_time` are in ms. A binary header has no room for the
codes from 200050 on, so these travel with JSON headers (sources: PopMessageRequestHeader.java and its
neighbours).
"""

from __future__ import annotations

from typing import Annotated

from mqframe.core.parameters import Since
from mqframe.core.requests.fields import GroupQueueRequest, Header, Int, Long, Request, request
from mqframe.core.requests.lasting import AtSlaves
from mqframe.core.requests.needs import Action, cluster, group, topic
from mqframe_pop.request_needs import ACKS, popped


class PopAnswer(Header):
    """Where the messages of a pop came from; `mqframe_pop.rules.receipt_handle` reads and writes the texts.

    `rest_num`: messages that were left; `revive_qid`: 999 for an ordered pop.
    """

    pop_time: Long
    invisible_time: Long
    revive_qid: Int
    rest_num: Long
    start_offset_info: str | None = None
    msg_offset_info: str | None = None
    order_count_info: str | None = None


@request(
    200050,
    PopAnswer,
    answer_body="records, back to back",
    needs=topic(Action.SUB) & group(Action.SUB),
    since="5.0.0",
    at_slaves=AtSlaves.MESSAGES,
)
class PopMessage(GroupQueueRequest):
    """Take messages out, hidden from the group's other members for `invisible_time`.

    `queue_id`: -1 for any queue; `poll_time`: how long to wait for messages, counted from `born_time`;
    `init_mode`: where a new group begins, 0 at the oldest message, 1 at the newest. `attempt_id`: the same
    for each try of one ordered pop, which then does not block itself.
    """

    max_msg_nums: Int
    invisible_time: Long
    poll_time: Long
    born_time: Long
    init_mode: Int
    exp_type: str | None = None
    exp: str | None = None
    order: bool | None = None
    attempt_id: Annotated[str | None, Since("5.1.1", alters=False)] = None
    bname: str | None = None


@request(200051, needs=popped(Action.SUB), since="5.0.0", at_slaves=AtSlaves.MESSAGES)
class AckMessage(GroupQueueRequest):
    """One popped message is done. `extra_info`: its receipt handle.

    `topic`: the one that it was really popped from; for a message that came again the retry topic.
    """

    extra_info: str
    offset: Long
    bname: str | None = None


@request(200151, body="BatchAckBody", needs=ACKS, since="5.1.3", at_slaves=AtSlaves.MESSAGES)
class BatchAckMessage(Request):
    """Several popped messages are done."""


class ChangeInvisibleTimeAnswer(Header):
    """From when on, and for how long, the message is hidden now."""

    pop_time: Long
    invisible_time: Long
    revive_qid: Int


@request(
    200053, ChangeInvisibleTimeAnswer, needs=popped(Action.SUB), since="5.0.0", at_slaves=AtSlaves.MESSAGES
)
class ChangeInvisibleTime(GroupQueueRequest):
    """Hide a popped message for `invisible_time` from now on; its handle is a new one afterwards."""

    extra_info: str
    offset: Long
    invisible_time: Long
    bname: str | None = None


class NotificationAnswer(Header):
    """Whether a pop would find something; `polling_full`: too many wait already."""

    has_msg: bool
    polling_full: bool | None = None


@request(200054, NotificationAnswer, needs=topic(Action.SUB) & group(Action.SUB), since="5.0.0")
class Notification(GroupQueueRequest):
    """Wait until there is something to pop, without taking it."""

    poll_time: Long
    born_time: Long
    order: Annotated[bool | None, Since("5.1.2", (False,))] = None
    attempt_id: Annotated[str | None, Since("5.1.2", alters=False)] = None
    bname: str | None = None


class PollingInfoAnswer(Header):
    """How many pops wait."""

    polling_num: Int


@request(200056, needs=cluster(Action.UPDATE), since="5.3.2")
class PopRollback(Request):
    """Move what is noted of popped messages from RocksDB into the log, for brokers that know no RocksDB."""


@request(200055, PollingInfoAnswer, needs=topic(Action.GET) & group(Action.GET), since="5.0.0")
class PollingInfo(GroupQueueRequest):
    """How many pops of a group wait at a queue (-1: at any queue)."""

    bname: str | None = None


@request(
    200052,
    PopAnswer,
    answer_body="records, back to back",
    needs=topic(Action.SUB) & group(Action.SUB),
    since="5.0.0",
)
class PeekMessage(Request):
    """Look at what a pop would give, without taking it."""

    topic: str
    queue_id: Int
    max_msg_nums: Int
    consumer_group: str
    bname: str | None = None
