from __future__ import annotations

from doors import DoorScene, consumer_settings, message
from mqframe_grpc.proto import messages as m

from mqframe.core.codes import ResponseCode
from mqframe.core.consuming.running_info import ConsumerRunningInfo, DirectOutcome, DirectResult
from mqframe.core.requests.insight import ConsumeMessageDirectly, GetConsumerRunningInfo
from mqframe.core.wire.loose_json import decode

TOPICS = {"orders": 1}


async def test_operators_see_what_threads_of_a_consumer_do() -> None:
    async with DoorScene(topics=TOPICS) as scene:
        stream = await scene.join("a@1", consumer_settings("billing", "orders"), x_mq_client_version="5.9")
        operator = scene.connect(0)
        asked = GetConsumerRunningInfo(consumer_group="billing", client_id="a@1", jstack_enable=True)
        waiting = operator.invoke(asked)
        await scene.until(lambda: stream.commands)
        nonce = stream.commands[0].print_thread_stack_trace_command.nonce
        # An answer to what nobody asked changes nothing.
        for each, text in (("another", "no"), (nonce, "main: waits")):
            trace = m.ThreadStackTrace(nonce=each, thread_stack_trace=text)
            stream.tell(m.TelemetryCommand(thread_stack_trace=trace))
        frame = await scene.finish(waiting)
        found = decode(memoryview(frame.body), ConsumerRunningInfo)
        assert found.jstack == "main: waits"
        assert [each.topic for each in found.subscription_set] == ["orders"]
        await scene.disconnect(operator)


async def test_a_message_is_consumed_at_an_operators_will() -> None:
    async with DoorScene(topics=TOPICS) as scene:
        await scene.send_one(message("orders", b"o-1"), "p@1")
        port = scene.cluster.broker.service_port
        [stored] = await port.reader.read("orders", 0, 0, 1)
        stream = await scene.join("a@1", consumer_settings("billing", "orders"))
        operator = scene.connect(0)
        asked = ConsumeMessageDirectly(
            consumer_group="billing", client_id="a@1", msg_id=stored.offset_message_id
        )
        waiting = operator.invoke(asked)
        await scene.until(lambda: stream.commands)
        command = stream.commands[0].verify_message_command
        assert (command.message.topic.name, command.message.body) == ("orders", b"o-1")
        stream.tell(
            m.TelemetryCommand(
                status=m.Status(code=m.Code.FAILED_TO_CONSUME_MESSAGE, message="no"),
                verify_message_result=m.VerifyMessageResult(nonce=command.nonce),
            )
        )
        frame = await scene.finish(waiting)
        found = decode(memoryview(frame.body), DirectResult)
        assert (found.consume_result, found.remark) == (DirectOutcome.LATER, "no")
        await scene.disconnect(operator)


async def test_a_consumer_without_a_stream_is_not_asked() -> None:
    async with DoorScene(topics=TOPICS) as scene:
        kind = m.ClientType.PUSH_CONSUMER
        beat = m.HeartbeatRequest(client_type=kind, group=m.Resource(name="billing"))
        await scene.call("Heartbeat", beat, "a@1")
        operator = scene.connect(0)
        asked = GetConsumerRunningInfo(consumer_group="billing", client_id="a@1", jstack_enable=True)
        frame = await scene.finish(operator.invoke(asked))
        assert frame.code == ResponseCode.SYSTEM_ERROR
        assert "no telemetry stream" in (frame.remark or "")
        await scene.disconnect(operator)
