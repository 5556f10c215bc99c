"""How messages that a channel has are named in logs."""

from __future__ import annotations

from typing import Any, cast

from mqframe_kombu.held import Held, Source
from mqframe_testing.consuming import received

from mqframe import PoppedMessage


def test_a_message_is_named_by_its_queue_id_keys_and_attempt() -> None:
    message = received(7, UNIQ_KEY="ID7", KEYS="task-1 add")
    message.reconsume_times = 2
    held = Held(Source("celery", 0, cast("Any", None)), PoppedMessage(message, "handle", 30.0))
    assert held.named() == {"queue": "celery", "message_id": "ID7", "keys": "task-1 add", "attempt": 3}
