"""Ordinary calls of a door for gRPC are compiled code's, where that is installed."""

from __future__ import annotations

import itertools
from typing import Any

import grpc
import pytest
from mqframe_grpc.proto import messages as m
from mqframe_speedups import service
from mqframe_testing.cluster import AsyncCluster

from mqframe import PluginManager

SERVICE = "/apache.rocketmq.v2.MessagingService/"
CLIENT = [("x-mq-client-id", "a@1")]
_ids = itertools.count(1)


class Noting:
    """Makes `kind`, and notes what its method `name` has returned."""

    def __init__(self, kind: Any, name: str) -> None:
        self._kind, self._name = kind, name
        self.returned: list[Any] = []

    def __call__(self, *arguments: Any) -> Any:
        method = getattr(self._kind(*arguments), self._name)

        def noted(*given: Any) -> Any:
            self.returned.append(method(*given))
            return self.returned[-1]

        return type("Noted", (), {self._name: staticmethod(noted)})


def message(body: bytes, **said: Any) -> m.Message:
    born = m.Timestamp(seconds=1_795_971_784)
    system = m.SystemProperties(
        message_id=f"01{next(_ids)}",
        born_timestamp=born,
        born_host="host",
        message_type=1,
        body_encoding=1,
        **said,
    )
    return m.Message(topic=m.Resource(name="orders"), body=body, system_properties=system)


async def told(channel: grpc.aio.Channel, rpc: str, request: Any) -> list[Any]:
    method = channel.unary_stream(
        SERVICE + rpc,
        request_serializer=lambda each: each.SerializeToString(),
        response_deserializer=m.METHODS[SERVICE + rpc][1].FromString,
    )
    return [answer async for answer in method(request, metadata=CLIENT, timeout=20)]


async def test_they_go_that_way(monkeypatch: pytest.MonkeyPatch) -> None:
    sent, received = Noting(service.SentReader, "read"), Noting(service.ReceivedTranslator, "translate")
    done = Noting(service.AckReader, "read")
    monkeypatch.setattr(service, "AckReader", done)
    monkeypatch.setattr(service, "SentReader", sent)
    monkeypatch.setattr(service, "ReceivedTranslator", received)
    plugins = PluginManager().configured({"grpc": {"port": 0}})
    async with AsyncCluster(plugins=plugins, broker={"services": ("grpc",)}) as running:
        await running.create_topic("orders", 1)
        offered = running.broker.service_port.offered("grpc.port")
        assert offered is not None
        async with grpc.aio.insecure_channel(f"127.0.0.1:{offered()}") as channel:
            for each in (message(b"o-0", tag="t"), message(b"o-1", keys=["é"])):
                [answer] = await told(channel, "SendMessage", m.SendMessageRequest(messages=[each]))
                assert answer.status.code == m.Code.OK
            assert [found is None for found in sent.returned] == [False, True]
            asked = m.ReceiveMessageRequest(
                group=m.Resource(name="billing"),
                message_queue=m.MessageQueue(topic=m.Resource(name="orders"), id=-1),
                filter_expression=m.FilterExpression(type=m.FilterType.TAG, expression="*"),
                batch_size=32,
                invisible_duration=m.Duration(seconds=30),
            )
            status, *messages, _ = await told(channel, "ReceiveMessage", asked)
            found = [each.message for each in messages]
            for some in (found[:1], found):
                handles = [
                    m.AckMessageEntry(message_id=said.message_id, receipt_handle=said.receipt_handle)
                    for said in [each.system_properties for each in some]
                ]
                topic, group = some[0].topic, m.Resource(name="billing")
                acknowledged = m.AckMessageRequest(group=group, topic=topic, entries=handles)
                [answer] = await told(channel, "AckMessage", acknowledged)
                codes = [each.status.code for each in answer.entries]
                assert codes[-1] == m.Code.OK
            assert codes == [m.Code.INVALID_RECEIPT_HANDLE, m.Code.OK]
            assert [each is None for each in done.returned] == [False, True]
        assert status.status.code == m.Code.OK
        assert [each.message.body for each in messages] == [b"o-0", b"o-1"]
        assert [each.message.system_properties.queue_offset for each in messages] == [0, 1]
        [translated] = received.returned
        assert [row[0][5:] for row in translated] == [each.SerializeToString() for each in messages]
