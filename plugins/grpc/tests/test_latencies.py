from __future__ import annotations

import grpc
from doors import DoorScene, message, receive_request
from mqframe_grpc.door import SERVICE
from mqframe_grpc.latencies import RpcLatencies
from mqframe_grpc.proto import messages as m
from mqframe_metrics import BrokerSource
from mqframe_testing.cluster import AsyncCluster
from scrapes import scrape

from mqframe import PluginManager
from mqframe.core.measuring.histogram import Histogram

NAME = "rocketmq_rpc_latency_milliseconds"
Counted = dict[tuple[str, ...], tuple[int, float]]


def counted(latencies: RpcLatencies) -> Counted:
    """How many answers, and how many ms they took, by the labels but the first."""
    found: Counted = {}
    for labels, value in latencies.family().series:
        assert isinstance(value, Histogram)
        found[labels[1:4]] = (sum(value.counts), value.sum)
    return found


def test_answers_count_by_rpc_and_code() -> None:
    latencies = RpcLatencies()
    send, bury = latencies.of("SendMessage"), latencies.of("ForwardMessageToDeadLetterQueue")
    receive = latencies.of("ReceiveMessage", polls=True)
    send.add(m.Code.OK, 0.5)
    send.add(m.Code.OK, 0.25)
    send.add(m.Code.TOPIC_NOT_FOUND, 0.0)
    receive.add(m.Code.OK, 0.002)
    bury.add(77, 0.0)
    assert counted(latencies) == {
        ("send_message", "ok", "false"): (2, 750.0),
        ("send_message", "topic_not_found", "false"): (1, 0.0),
        ("forward_message_to_dead_letter_queue", "77", "false"): (1, 0.0),
        ("receive_message", "ok", "true"): (1, 2.0),
    }
    [(labels, value), *_] = latencies.family().series
    assert labels == ("grpc", "send_message", "ok", "false", "success")
    assert isinstance(value, Histogram)
    assert value.counts == [0, 0, 0, 0, 0, 0, 2, 0, 0, 0]


async def test_calls_of_a_door_are_timed() -> None:
    async with DoorScene(topics={"orders": 1}) as scene:
        await scene.send_one(message("orders", b"o-1"))
        request = m.SendMessageRequest(messages=[message("nowhere", b"o-2")])
        await scene.call("SendMessage", request)
        assert len(await scene.receive("orders", "billing")) == 1
        assert await scene.receive("orders", "billing", seconds=5.0) == []
        stopped = scene.begin("ReceiveMessage", receive_request("orders", "billing"), timeout=30.0)
        await scene.pass_time(1.0)
        stopped.cancel()  # who has gone gets no answer
        await scene.settle()
        found = counted(scene.door.latencies)
        assert {labels: times for labels, (times, _) in found.items()} == {
            ("send_message", "ok", "false"): 1,
            ("send_message", "topic_not_found", "false"): 1,
            ("receive_message", "ok", "true"): 1,
            ("receive_message", "message_not_found", "true"): 1,
        }
        assert found["receive_message", "message_not_found", "true"][1] >= 5000


async def test_a_scrape_of_a_broker_shows_them_beside_its_requests() -> None:
    plugins = PluginManager().configured({"grpc": {"port": 0, "tls": "disabled"}})
    async with AsyncCluster(plugins=plugins, broker={"services": ("grpc",)}) as running:
        source = BrokerSource(running.broker)
        await scrape(source)  # requests are timed from here on
        await running.create_topic("orders", 1)
        offered = running.broker.service_port.offered("grpc.port")
        assert offered is not None
        async with grpc.aio.insecure_channel(f"127.0.0.1:{offered()}") as channel:
            send = channel.unary_unary(f"{SERVICE}SendMessage", response_deserializer=bytes)
            request = m.SendMessageRequest(messages=[message("orders", b"o-1")]).SerializeToString()
            for _ in range(2):
                await send(request, metadata=[("x-mq-client-id", "a@1")], timeout=20)
            receive = channel.unary_stream(f"{SERVICE}ReceiveMessage", response_deserializer=bytes)
            wanted = receive_request("orders", "billing").SerializeToString()
            assert [each async for each in receive(wanted, metadata=[("x-mq-client-id", "a@1")], timeout=20)]
        text = await scrape(source)
        assert text.count(f"# TYPE {NAME} histogram\n") == 1
        lines = [line for line in text.splitlines() if line.startswith(NAME)]
        mine = [line for line in lines if 'protocol_type="grpc"' in line]
        node = 'cluster="DefaultCluster",node_type="broker",node_id="broker-a",protocol_type='
        assert [line for line in mine if line.startswith(f"{NAME}_count")] == [
            f'{NAME}_count{{{node}"grpc",request_code="send_message",response_code="ok",'
            'is_long_polling="false",result="success"} 2',
            f'{NAME}_count{{{node}"grpc",request_code="receive_message",response_code="ok",'
            'is_long_polling="true",result="success"} 1',
        ]
        sends = [line for line in mine if 'request_code="send_message"' in line and "_bucket" in line]
        assert [line.rpartition('le="')[2].partition('"')[0] for line in sends] == [
            "1.0", "3.0", "5.0", "7.0", "10.0", "100.0", "1000.0", "2000.0", "3000.0", "+Inf",
        ]  # fmt: skip
        assert sends[-1].endswith('le="+Inf"} 2')
        # What they become in the broker came by no connection of the other protocol.
        others = [line for line in lines if 'protocol_type="remoting"' in line]
        assert any('request_code="update_and_create_topic"' in line for line in others)
        assert not any('request_code="send_message_v2"' in line for line in others)
