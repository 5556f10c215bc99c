from __future__ import annotations

import json

from mqframe.core.consuming.bodies import LockAnswerBody, QueueBody
from mqframe.core.messages.message import MessageQueue
from mqframe.core.wire import loose_json


def test_queue_bodies_stand_for_queues() -> None:
    queue = MessageQueue("t", "b", 3)
    body = QueueBody.of(queue)
    assert body.queue == queue
    assert json.loads(loose_json.dumps(body)) == {"brokerName": "b", "queueId": 3, "topic": "t"}


def test_the_list_of_locked_queues_has_the_name_that_java_gives_it() -> None:
    answer = LockAnswerBody([QueueBody.of(MessageQueue("t", "b", 3))])
    text = loose_json.dumps(answer)
    assert json.loads(text) == {"lockOKMQSet": [{"brokerName": "b", "queueId": 3, "topic": "t"}]}
    assert loose_json.decode(text, LockAnswerBody) == answer
