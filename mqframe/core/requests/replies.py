"""Replies to requests that applications sent as messages (source: ReplyMessageProcessor.java)."""

from __future__ import annotations

from mqframe.core.requests.fields import Int, Long, Request, request
from mqframe.core.requests.messages import SendAnswer, SendFields, SendFieldsV2
from mqframe.core.requests.needs import signed


@request(324, SendAnswer, body="message body", needs=signed())
class SendReplyMessage(SendFields):
    """Hand a reply to the client that waits for it (first form of the header)."""


@request(325, SendAnswer, body="message body", needs=signed())
class SendReplyMessageV2(SendFieldsV2):
    """Hand a reply to the client that waits for it (short form of the header)."""


@request(326, body="message body", needs=signed())
class PushReplyMessageToClient(Request):
    """Broker to client: the reply to a request of yours. Hosts are "ip:port", `store_timestamp` is in ms."""

    producer_group: str
    topic: str
    default_topic: str
    default_topic_queue_nums: Int
    queue_id: Int
    sys_flag: Int
    born_timestamp: Long
    flag: Int
    born_host: str
    store_host: str
    store_timestamp: Long
    properties: str | None = None
    reconsume_times: Int | None = None
    unit_mode: bool | None = None
