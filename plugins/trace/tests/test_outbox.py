"""When records leave, and when they are given up."""

import pytest
from mqframe_trace import SendTrace
from mqframe_trace.records import decode_records
from traced import ADDRESS, QUEUE, Port, attached, send_once, sent_result

from mqframe.core.errors import FixError
from mqframe.core.messages.message import Message, MessageQueue
from mqframe.hooks.interfaces import SendContext


def test_a_full_batch_leaves_at_once_one_message_for_each_topic() -> None:
    hook, port = attached(SendTrace, batch_records_max=4)
    other = MessageQueue("bills", "broker-a", 0)
    for number in range(4):
        queue = other if number == 2 else QUEUE
        context = SendContext("shop", [Message(queue.topic, b"x")], ["I"], queue, ADDRESS, "async", 0)
        hook.before(context)
        context.result = sent_result(message_id=f"ID{number}", queue=queue)
        hook.after(context)
    assert [[r.message_id for r in decode_records(m.body.decode())] for m in port.sent] == [
        ["ID0", "ID1", "ID3"],
        ["ID2"],
    ]


def test_what_does_not_fit_is_dropped_and_counted() -> None:
    hook, port = attached(SendTrace, batch_records_max=1000, waiting_records_max=3)
    for _ in range(5):
        send_once(hook, port, sent_result())
    assert hook.outbox.dropped == 2
    port.full = True
    hook.detach()
    assert (hook.outbox.dropped, port.sent) == (5, [])
    send_once(hook, port, sent_result())
    assert hook.outbox.dropped == 5, "nothing is told, and nothing counted, after the stop"


def test_a_hook_watches_one_client_at_a_time() -> None:
    hook, port = attached(SendTrace)
    with pytest.raises(FixError, match="one client"):
        hook.attach(Port())
    hook.detach()
    hook.attach(port)
