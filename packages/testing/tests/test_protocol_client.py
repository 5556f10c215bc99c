"""A client that talks the protocol."""

from __future__ import annotations

import pytest
from mqframe_testing import ClusterScene
from mqframe_testing.protocol_client import pull_request, send_request

from mqframe.core.codes import ResponseCode
from mqframe.core.storage.record import decode_records


async def test_it_gives_answers_whatever_they_say() -> None:
    async with ClusterScene(topics={"t": 1}) as scene:
        answer = await scene.client.pull("nothing of the kind")
        assert answer.code == ResponseCode.TOPIC_NOT_EXIST
        with pytest.raises(AssertionError, match=r"^17 .*nothing of the kind"):
            await scene.client.ok(pull_request("nothing of the kind"))
        with pytest.raises(AssertionError, match=r"^29 queue id 77"):
            await scene.client.ok_send("t", queue_id=77)


async def test_it_sends_and_pulls() -> None:
    async with ClusterScene(topics={"t": 2}) as scene:
        await scene.client.send("t", b"first", queue_id=1)
        answer = await scene.client.pull("t", queue_id=1)
        assert [message.body for message in decode_records(answer.body)] == [b"first"]


def test_requests_have_the_values_of_the_java_client_unless_told_otherwise() -> None:
    assert send_request("t", "k\x01v\x02", queue_id=3).queue_id == 3
    assert send_request("t").default_topic == "TBW102"
    assert (pull_request("t", 7).queue_offset, pull_request("t", max_msg_nums=1).max_msg_nums) == (7, 1)
