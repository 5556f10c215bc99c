"""What real consumers told of themselves."""

from __future__ import annotations

import pytest
from recorded import FRAMES, Recorded

from mqframe.core.consuming.running_info import ConsumerRunningInfo, ConsumerStatus, ProcessQueueInfo
from mqframe.core.messages.message import MessageQueue
from mqframe.core.wire.loose_json import decode, dumps, loads

STATUS = [
    recorded
    for recorded in FRAMES
    if recorded.request_code in (221, 223) and recorded.side != "request" and recorded.facts["code"] == 0
]


def test_there_are_recorded_answers() -> None:
    assert {recorded.request_code for recorded in STATUS} == {221, 223}


@pytest.mark.parametrize("recorded", STATUS, ids=str)
def test_recorded_offsets_are_read_and_written_again(recorded: Recorded) -> None:
    text = recorded.facts["body"]["text"]
    found = decode(text, ConsumerStatus)
    tables = [found.message_queue_table, *found.consumer_table.values()]
    queues = [queue for table in tables for queue in table]
    assert queues
    assert all(isinstance(queue, MessageQueue) for queue in queues)
    assert loads(dumps(found)) == loads(text)


def test_running_info_keeps_its_form() -> None:
    queue = MessageQueue("t", "b", 1)
    info = ConsumerRunningInfo(
        jstack="text", mq_table={queue: ProcessQueueInfo(cached_msg_size_in_mib=3, dropped=True)}
    )
    text = dumps(info)
    assert b'{"brokerName":"b","queueId":1,"topic":"t"}:{' in text
    assert b'"cachedMsgSizeInMiB":3' in text
    assert b'"droped":true' in text
    assert decode(text, ConsumerRunningInfo).queues == info.queues
