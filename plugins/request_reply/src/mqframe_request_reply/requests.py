"""What a broker asks of the client that waits for a reply (source: ReplyMessageProcessor.java)."""

from __future__ import annotations

from mqframe.core.requests.fields import Int, Long, Request, request
from mqframe.core.requests.needs import signed


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
