"""Requests that carry messages: send, pull, look up (wire.md §3.1).

`queue_offset` counts messages; `commit_log_offset` and `offset` of a look-up are bytes; times are in ms.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from mqframe.core.parameters import OURS, Since
from mqframe.core.requests.fields import Header, Int, Long, Request, request
from mqframe.core.requests.lasting import AtSlaves
from mqframe.core.requests.needs import Action, cluster, group, topic


class SendAnswer(Header):
    """What a broker says of a stored message. `msg_id` is the offset id (comma-joined for a batch)."""

    msg_id: str
    queue_id: Int
    queue_offset: Long
    transaction_id: str | None = None
    batch_uniq_id: str | None = None
    recall_handle: str | None = None
    region: str | None = msgspec.field(default=None, name="MSG_REGION")
    trace_on: str | None = msgspec.field(default=None, name="TRACE_ON")


class SendFields(Request):
    """The fields of a send, with their full wire names."""

    producer_group: str
    topic: str
    default_topic: str
    default_topic_queue_nums: Int
    queue_id: Int
    sys_flag: Int
    born_timestamp: Long
    flag: Int
    properties: str | None = None
    reconsume_times: Int | None = None
    unit_mode: bool | None = None
    batch: bool | None = None
    max_reconsume_times: Int | None = None


@request(10, SendAnswer, body="message body", needs=topic(Action.PUB), at_slaves=AtSlaves.MESSAGES)
class SendMessage(SendFields):
    """Store one message (first form of the header)."""


class SendFieldsV2(Request):
    """The fields of a send, with one-letter wire names."""

    producer_group: str = msgspec.field(name="a")
    topic: str = msgspec.field(name="b")
    default_topic: str = msgspec.field(name="c")
    default_topic_queue_nums: Int = msgspec.field(name="d")
    queue_id: Int = msgspec.field(name="e")
    sys_flag: Int = msgspec.field(name="f")
    born_timestamp: Long = msgspec.field(name="g")
    flag: Int = msgspec.field(name="h")
    properties: str | None = msgspec.field(name="i", default=None)
    reconsume_times: Int | None = msgspec.field(name="j", default=None)
    unit_mode: bool | None = msgspec.field(name="k", default=None)
    max_reconsume_times: Int | None = msgspec.field(name="l", default=None)
    batch: bool | None = msgspec.field(name="m", default=None)
    broker_name: Annotated[str | None, Since("4.9.5", alters=False)] = msgspec.field(name="n", default=None)


@request(
    310, SendAnswer, body="message body", needs=topic(Action.PUB, field="b"), at_slaves=AtSlaves.MESSAGES
)
class SendMessageV2(SendFieldsV2):
    """Store one message (short form of the header)."""


@request(
    320,
    SendAnswer,
    body="batch of messages (mqframe.core.messages.batch)",
    needs=topic(Action.PUB, field="b"),
    at_slaves=AtSlaves.MESSAGES,
)
class SendBatchMessage(SendFieldsV2):
    """Store several messages of one topic and queue."""


class RecallAnswer(Header):
    """The unique key of the message that was taken back."""

    msg_id: str


@request(370, RecallAnswer, needs=topic(Action.PUB), since="5.3.2", at_slaves=AtSlaves.MESSAGES)
class RecallMessage(Request):
    """Take back a message that waits for a given time."""

    topic: str
    recall_handle: str
    producer_group: str | None = None


class PullAnswer(Header):
    """Where to go on. Answers 24 and 25 carry none of these."""

    suggest_which_broker_id: Long
    next_begin_offset: Long
    min_offset: Long
    max_offset: Long
    offset_delta: Long | None = None
    topic_sys_flag: Int | None = None
    group_sys_flag: Int | None = None
    forbidden_type: Int | None = None


class PullFields(Request):
    """The fields of a pull.

    `mqframe_bulk`, of mqframe alone: the reader wants many messages at once, as jobs do; brokers that do not
    know it give what they give to all.
    """

    consumer_group: str
    topic: str
    queue_id: Int
    queue_offset: Long
    max_msg_nums: Int
    sys_flag: Int
    commit_offset: Long
    suspend_timeout_millis: Long
    sub_version: Long
    subscription: str | None = None
    expression_type: str | None = None
    max_msg_bytes: Annotated[Int | None, Since("5.0.0", alters=False)] = None
    request_source: Annotated[Int | None, Since("5.1.0", alters=False)] = None
    proxy_froward_client_id: Annotated[str | None, Since("5.1.0", alters=False)] = None
    bname: Annotated[str | None, Since("4.9.5", alters=False)] = None
    mqframe_bulk: Annotated[bool | None, OURS] = None


@request(
    11,
    PullAnswer,
    answer_body="records, back to back",
    needs=topic(Action.SUB) & group(Action.SUB),
    at_slaves=AtSlaves.PULLS,
)
class PullMessage(PullFields):
    """Read messages of one queue from an offset on, perhaps waiting for some."""


@request(
    361,
    PullAnswer,
    answer_body="records, back to back",
    needs=topic(Action.SUB) & group(Action.SUB),
    since="5.0.0",
    at_slaves=AtSlaves.PULLS,
)
class LitePullMessage(PullFields):
    """As `PullMessage`, from a lite pull consumer."""


@request(33, answer_body="one record", needs=cluster(Action.GET, operators=False))
class ViewMessageById(Request):
    """The record at a commit-log offset.

    `mqframe_unconfirmed`: also one that consumers may not see yet. Brokers of mqframe compare logs so.
    """

    offset: Long
    topic: Annotated[str | None, Since("5.3.0", alters=False)] = None
    mqframe_unconfirmed: Annotated[bool | None, OURS] = None


class QueryAnswer(Header):
    """How far the index that was searched reaches."""

    index_last_update_timestamp: Long
    index_last_update_phyoffset: Long


@request(12, QueryAnswer, answer_body="records, back to back", needs=topic(Action.SUB, Action.GET))
class QueryMessage(Request):
    """Messages of a topic by key and store time."""

    topic: str
    key: str
    max_num: Int
    begin_timestamp: Long
    end_timestamp: Long
    unique_key: str | None = msgspec.field(default=None, name="_UNIQUE_KEY_QUERY")


@request(36, needs=group(Action.SUB, field="group"), at_slaves=AtSlaves.MESSAGES)
class ConsumerSendMsgBack(Request):
    """Hand a failed message back, to be delivered again later. `offset` is a commit-log offset.

    `origin_topic`: the message's own one, also where a retry topic brought it. Besides the group the sender
    needs the topic of the message that lies there.
    """

    offset: Long
    group: str
    delay_level: Int
    origin_msg_id: str | None = None
    origin_topic: str | None = None
    unit_mode: bool | None = None
    max_reconsume_times: Int | None = None
    bname: Annotated[str | None, Since("4.9.5", alters=False)] = None


@request(37, needs=topic(Action.PUB, optional=True), at_slaves=AtSlaves.TRANSACTIONS)
class EndTransaction(Request):
    """Commit (8), roll back (12) or leave open (0) a half message.

    Its sender needs the topic of that message, whether the request names one or not.
    """

    producer_group: str
    tran_state_table_offset: Long
    commit_log_offset: Long
    commit_or_rollback: Int
    msg_id: str
    topic: Annotated[str | None, Since("5.3.0", alters=False)] = None
    from_transaction_check: bool | None = None
    transaction_id: str | None = None
    bname: Annotated[str | None, Since("4.9.5", alters=False)] = None


@request(39, body="one record", needs=topic(Action.PUB, optional=True))
class CheckTransactionState(Request):
    """Broker to producer: how did this transaction end?"""

    tran_state_table_offset: Long
    commit_log_offset: Long
    topic: Annotated[str | None, Since("5.3.0", alters=False)] = None
    msg_id: str | None = None
    transaction_id: str | None = None
    offset_msg_id: str | None = None
    bname: Annotated[str | None, Since("4.9.5", alters=False)] = None
