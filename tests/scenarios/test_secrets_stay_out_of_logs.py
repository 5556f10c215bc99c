"""What applications send is in no log, at any level, whatever goes wrong.

But for keys and tags of messages that a listener failed: by them whoever reads the line finds the message.
"""

from __future__ import annotations

import asyncio
import logging

import pytest
from mqframe_testing.cluster import AsyncCluster

from mqframe import (
    AsyncProducer,
    AsyncPushConsumer,
    AsyncSimpleConsumer,
    AsyncTransactionProducer,
    ConsumeResult,
    Message,
    MqframeError,
    TransactionOutcome,
)
from mqframe.core.requests.messages import PullMessage, RecallMessage, SendMessageV2
from mqframe.net.client import Client

BODY, KEY, VALUE, TAG = "b0dy-s3cret", "k3y-s3cret", "v4lue-s3cret", "t4g-s3cret"
SECRETS = (BODY, KEY, VALUE, TAG)
NAMING = "messages were not consumed"
"""The event whose lines name messages."""


def message(topic="t"):
    return Message(topic, BODY.encode(), tag=TAG, keys=(KEY,), properties={"colour": VALUE})


class Undecided:
    async def execute_local_transaction(self, message, argument):
        return VALUE

    async def check_local_transaction(self, message):
        return TransactionOutcome.ROLLBACK


async def consume_badly(cluster):
    got = asyncio.Event()
    consumer = AsyncPushConsumer("failing", nameserver=cluster.nameserver, consume_from="first")

    @consumer.on("t")
    async def listen(messages, context):
        got.set()
        return ConsumeResult.LATER

    async with consumer:
        await asyncio.wait_for(got.wait(), 20)
        await asyncio.sleep(0.1)


async def send_badly(cluster):
    client = Client(cluster.clock)
    address = cluster.broker.address
    properties = f"KEYS\x01{KEY}\x02colour\x01{VALUE}\x02"
    try:
        for more in (
            "DELAY\x01x\x02",
            "TIMER_DELIVER_MS\x01x\x02",
            "TIMER_DELAY_SEC\x0199999999\x02",
            "DELAY\x011\x02",
        ):
            request = SendMessageV2("g", "t", "TBW102", 4, 0, 0, 0, 0, properties + more)
            await client.invoke(address, request, BODY.encode())
        await client.invoke(address, RecallMessage(producer_group="g", topic="t", recall_handle=VALUE))
        await client.invoke(
            address,
            PullMessage(
                consumer_group="g", topic="t", queue_id=0, queue_offset=0, max_msg_nums=1, sys_flag=4,
                commit_offset=0, suspend_timeout_millis=0, subscription=f"colour = '{VALUE}' >",
                sub_version=0, expression_type="SQL92",
            ),
        )  # fmt: skip
    finally:
        await client.close()


async def test_nothing_that_was_sent_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        async with AsyncCluster(broker={"property_filter": True}) as cluster:
            await cluster.create_topic("t", 1)
            async with AsyncProducer("g", nameserver=cluster.nameserver) as producer:
                for _ in range(3):
                    await producer.send(message())
                await producer.send(message(), delay_level=1)
                await producer.send(message(), delay=1)
                with pytest.raises(MqframeError):
                    await producer.send(Message("t", BODY.encode(), properties={"x": ""}))
            await send_badly(cluster)
            transactions = AsyncTransactionProducer("tg", Undecided(), nameserver=cluster.nameserver)
            async with transactions:
                await transactions.send_in_transaction(message())
            await consume_badly(cluster)
            simple = AsyncSimpleConsumer("popping", nameserver=cluster.nameserver, consume_from="first")
            simple.subscribe("t")
            async with simple:
                assert await simple.receive(8)
            await cluster.kill_broker()
            await cluster.start_broker()
    assert len(caplog.records) > 5
    formatter = logging.Formatter("%(message)s %(fields)s", defaults={"fields": ""})
    leaks = [
        (record.name, text)
        for record in caplog.records
        for text in [formatter.format(record)]
        for named in [getattr(record, "event", "") == NAMING]
        if any(secret in text for secret in ((BODY, VALUE) if named else SECRETS))
    ]
    assert leaks == []
    assert any(KEY in formatter.format(record) for record in caplog.records), "no message was named"


def test_messages_show_their_size_only() -> None:
    assert repr(message()) == "<Message t 11 bytes>"
