"""A real server that is killed again and again while a schedule sends every second."""

from __future__ import annotations

import signal
import time
from pathlib import Path

from mqframe_schedules import Schedule, SchedulesAdmin
from mqframe_testing.server_process import ServerProcess

from mqframe import Admin, StoreReader

SERVICE = "broker.services=schedules"
WAITS_SECONDS = (1.3, 0.4, 1.7, 0.05)
"""How long the server runs before it is killed: real processes have real time."""


def sent_for(data: Path) -> list[int]:
    """The times, ms, that messages were sent for."""
    reader = StoreReader(data / "store")
    messages = reader.records("ticks", 0, 0, 10_000) if "ticks" in reader.topics() else []
    return [int(message.properties["SCHEDULE_TIME"]) for message in messages]


def test_each_second_is_sent_for_once_however_often_the_server_is_killed(tmp_path: Path) -> None:
    with ServerProcess(tmp_path, SERVICE) as server, Admin(nameserver=server.nameserver) as admin:
        admin.topics.create("ticks", queues=1)
        made = SchedulesAdmin(admin).create(
            Schedule(name="tick", expression="* * * * * *", topic="ticks", body="x", missed="all")
        )
        time.sleep(WAITS_SECONDS[0])
        server.end(signal.SIGKILL)
    for seconds in WAITS_SECONDS[1:]:
        with ServerProcess(tmp_path, SERVICE) as server:
            time.sleep(seconds)
            server.end(signal.SIGKILL)
    with ServerProcess(tmp_path, SERVICE) as server, Admin(nameserver=server.nameserver) as admin:
        (state,) = SchedulesAdmin(admin).list()
        assert state.schedule.number == made.schedule.number == 1
        back_ms = time.time_ns() // 1_000_000
        while not (times := sent_for(tmp_path)) or times[-1] < back_ms:
            time.sleep(0.05)
    times = sent_for(tmp_path)
    assert made.next_ms is not None
    assert times == list(range(made.next_ms, times[-1] + 1, 1000))
    assert len(times) >= sum(WAITS_SECONDS)
