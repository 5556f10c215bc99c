"""What becomes of a command before it is sent."""

from __future__ import annotations

import asyncio

import pytest
from faststream.response import PublishType
from hypothesis import given
from hypothesis import strategies as st
from mqframe_faststream import MqframeMessage, MqframePublishCommand, MqframeResponse
from mqframe_faststream.producer import MqframeProducer
from mqframe_faststream.response import SendPlan

from mqframe import MessageError


def command(body, *more, **options):
    return MqframePublishCommand(body, *more, topic="orders", _publish_type=PublishType.PUBLISH, **options)


def message_of(cmd):
    return asyncio.run(MqframeProducer(None, None).message(cmd))


def test_a_message_has_all_that_its_command_says() -> None:
    plan = SendPlan(tag="paid", keys=["a", "b"])
    made = message_of(
        command([1], headers={"h": 1, "none": None, "empty": ""}, correlation_id="c", reply_to="r", plan=plan)
    )
    assert (made.topic, made.body, made.tag, made.keys) == ("orders", b"[1]", "paid", ("a", "b"))
    assert made.properties == {
        "h": "1",
        "content-type": "application/json",
        "correlation_id": "c",
        "reply_to": "r",
    }


def test_what_the_publisher_says_of_its_body_goes_before_what_its_encoding_says() -> None:
    made = message_of(command({"a": 1}, headers={"content-type": "application/cloudevents+json"}))
    assert made.properties["content-type"] == "application/cloudevents+json"


async def test_a_correlation_id_in_headers_is_kept_unless_another_is_handed_in(
    make, running, topic, seen
) -> None:
    broker = make()

    @broker.subscriber(topic)
    async def handle(value: int, message: MqframeMessage) -> MqframeResponse:
        seen((value, message.correlation_id))
        return MqframeResponse(value)

    async with running(broker):
        headers = {"correlation_id": "of the headers"}
        await broker.publish(1, topic, headers=headers)
        await broker.publish(2, topic, headers=headers, correlation_id="handed in")
        await broker.publisher(topic).publish(3, headers=headers)
        assert sorted(await seen.take(3)) == [(1, "of the headers"), (2, "handed in"), (3, "of the headers")]
    assert MqframeResponse(1, headers={"correlation_id": "own"}).correlation_id == "own"


@given(st.binary())
def test_bytes_are_sent_as_they_are(body) -> None:
    made = message_of(command(body))
    assert made.body == (body or b"\x00")
    assert made.properties == ({} if body else {"content-length": "0"})


async def test_a_batch_is_encoded_each_for_itself() -> None:
    several = command("a", b"b", MqframeResponse(3, headers={"own": "1"}), headers={"h": "1"})
    made = await MqframeProducer(None, None).messages(several)
    assert [each.body for each in made] == [b"a", b"b", b"3"]
    assert [each.properties.get("content-type") for each in made] == ["text/plain", None, "application/json"]
    assert [each.properties.get("own") for each in made] == [None, None, "1"]
    assert {each.properties["h"] for each in made} == {"1"}


async def test_an_empty_batch_is_an_error() -> None:
    with pytest.raises(MessageError, match="at least one"):
        await MqframeProducer(None, None).messages(command(None))


async def test_many_at_once_arrive_all_and_each_has_its_result(make, running, topic, seen) -> None:
    broker = make()

    @broker.subscriber(topic, batch=True)
    async def handle(values: list[int]) -> None:
        for value in values:
            seen(value)

    async with running(broker):
        results = await asyncio.gather(*[broker.publish(value, topic) for value in range(200)])
        await seen.take(200)
        places = {(result.queue, result.queue_offset) for result in results}
        assert (len(places), len({result.message_id for result in results})) == (200, 200)
    assert sorted(seen.all) == list(range(200))
