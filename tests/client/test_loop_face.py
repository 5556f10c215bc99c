"""An asyncio client in a thread of its own, as the blocking faces have it."""

from __future__ import annotations

import threading

import pytest

from mqframe.client.loop_face import LoopFace
from mqframe.core.errors import ClosedError


class Client:
    def __init__(self, fails: bool = False) -> None:
        self.events: list[str] = []
        self.fails = fails

    async def start(self) -> None:
        self.events.append(f"start in {threading.current_thread().name}")
        if self.fails:
            raise ValueError("mine")

    async def stop(self) -> None:
        self.events.append("stop")

    async def leave(self) -> None:
        self.events.append("leave")

    async def where(self) -> str:
        return threading.current_thread().name


def test_calls_run_in_its_thread_until_it_is_stopped() -> None:
    client = Client()
    face = LoopFace("the client", client, "face")
    assert face.do(lambda: threading.current_thread().name) == threading.current_thread().name
    with pytest.raises(ClosedError, match="the client is not running"):
        face.call(client.where)
    face.start()
    with pytest.raises(ClosedError, match="the client is running; make a new one"):
        face.start()
    assert face.call(client.where) == "face"
    assert face.do(lambda: threading.current_thread().name) == "face"
    face.stop(client.leave)
    face.stop()
    assert client.events == ["start in face", "leave"]
    with pytest.raises(ClosedError, match="was stopped"):
        face.start()
    with pytest.raises(ClosedError, match="is not running"):
        face.call(client.where)


def test_a_start_that_fails_may_be_tried_again() -> None:
    client = Client(fails=True)
    face = LoopFace("the client", client, "face")
    before = threading.active_count()
    with pytest.raises(ValueError, match="mine"):
        face.start()
    assert threading.active_count() == before
    client.fails = False
    face.start()
    face.stop()
    assert client.events[-1] == "stop"
