"""The service over a port whose log is a list: what is sent, killed at each point, taken up again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from mqframe_schedules.bodies import Schedule
from mqframe_schedules.requests import CreateSchedule, PauseSchedule, RemoveSchedule, ResumeSchedule
from mqframe_schedules.service import Schedules, SchedulesOptions
from mqframe_testing.conformance import BrokerServiceConformance
from mqframe_testing.manual_clock import ManualClock

from mqframe.core.cluster.topic_bodies import TopicConfig
from mqframe.core.errors import Refusal
from mqframe.core.messages.addresses import encode_host
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.messages.properties import encode_properties
from mqframe.core.storage.stored import Stored
from mqframe.core.wire import loose_json
from mqframe.hooks.interfaces import BrokerPort

HOST = encode_host("127.0.0.1:10911")
MINUTE = 60_000
START = 1_700_000_040_000
"""A full minute."""


class Killed(BaseException):
    """Stands for a process that ends here."""


class Disk:
    """What outlives a broker: the log and the saved tables."""

    def __init__(self) -> None:
        self.log: list[ReceivedMessage] = []
        self.tables: dict[str, bytes] = {}

    def append(
        self, topic: str, queue_id: int, body: bytes, properties: dict[str, str], host: bytes = HOST
    ) -> Stored:
        end = self.log[-1].commit_log_offset + 100 if self.log else 0
        raw = encode_properties(properties).encode()
        where = (topic, queue_id, len(self.log), end, 100)
        self.log.append(ReceivedMessage(*where, 0, 0, host, HOST, 0, 0, 0, 0, 0, body, raw))
        return Stored(end, len(self.log) - 1, 100, 0)

    def times(self) -> list[int]:
        """The planned times of the messages, minutes after `START`."""
        return [
            (int(m.properties["SCHEDULE_TIME"]) - START) // MINUTE
            for m in self.log
            if "SCHEDULE" in m.properties
        ]


class Task:
    def __init__(self, clock: ManualClock, work: Callable[[], Awaitable[int | None]]) -> None:
        self.clock, self.work, self.turns = clock, work, 0
        self.timer: Any = None

    def ring_in(self, wait_ms: int) -> None:
        self.cancel()
        self.timer = self.clock.call_later(wait_ms / 1000, self.ring)

    def ring(self) -> None:
        self.turns += 1
        wait = asyncio.run(self.work())  # type: ignore[arg-type]
        if wait is not None:
            self.ring_in(wait)

    def cancel(self) -> None:
        if self.timer is not None:
            self.timer.cancel()

    async def stop(self) -> None:
        self.cancel()


class Port:
    """A `BrokerPort` over `disk`; `kill_before`, `kill_after`: puts around which the process ends."""

    def __init__(self, disk: Disk, clock: ManualClock) -> None:
        self.disk, self.clock = disk, clock
        self.reader = self.writer = self.topics = self.identity = self
        self.name, self.known = "broker-a", {"orders": TopicConfig("orders", write_queue_nums=3)}
        self.refuses = False
        self.puts = 0
        self.kill_before = self.kill_after = -1

    @property
    def max_offset(self) -> int:
        return self.disk.log[-1].commit_log_offset + 100 if self.disk.log else 0

    async def records_from(self, offset: int) -> AsyncIterator[ReceivedMessage]:
        for message in self.disk.log:
            if message.commit_log_offset >= offset:
                yield message

    def find(self, topic: str) -> TopicConfig | None:
        return self.known.get(topic)

    def put(
        self, topic: str, queue_id: int, body: bytes, properties: dict[str, str], *, born_timestamp: int
    ) -> Stored:
        if self.refuses:
            raise Refusal(14, "the disk is full")
        self.puts += 1
        if self.puts == self.kill_before:
            raise Killed
        stored = self.disk.append(topic, queue_id, body, properties)
        if self.puts == self.kill_after:
            raise Killed
        return stored

    def due_task(self, work: Callable[[], Awaitable[int | None]], name: str) -> Task:
        self.task = Task(self.clock, work)
        return self.task


class Running:
    """A service that was started over `disk`."""

    def __init__(self, disk: Disk, clock: ManualClock, **options: Any) -> None:
        self.disk, self.clock = disk, clock
        self.port = Port(disk, clock)
        self.service = Schedules(self.port, SchedulesOptions(**options))  # type: ignore[arg-type]
        for table in self.service.tables():
            if table.name in disk.tables:
                table.table.load(loose_json.decode(disk.tables[table.name], table.body))
        asyncio.run(self.service.start())

    def save(self, *names: str) -> None:
        for table in self.service.tables():
            if table.name in names:
                self.disk.tables[table.name] = loose_json.dumps(table.table.dump())

    def stop(self) -> None:
        asyncio.run(self.service.stop())
        self.save("schedules.json", "schedulesSent.json")

    def create(self, **fields: Any) -> Any:
        given = {"name": "report", "expression": "* * * * *", "topic": "orders", "body": "x"} | fields
        state = self.service.create(CreateSchedule(), Body(Schedule(**given)))  # type: ignore[arg-type]
        self.save("schedules.json")
        return state


class Body:
    """A call with a body."""

    def __init__(self, body: object) -> None:
        self._body = body

    def body(self, kind: type) -> object:
        return self._body


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START)


@pytest.fixture
def disk() -> Disk:
    return Disk()


def test_messages_are_sent_at_their_times_to_all_queues_in_turn(disk: Disk, clock: ManualClock) -> None:
    running = Running(disk, clock)
    state = running.create(tag="daily", keys=["k"], properties={"region": "north"}, body="ä")
    assert (state.next_ms, state.last_ms, state.broker) == (START + MINUTE, None, "broker-a")
    clock.advance(59.999)
    assert disk.log == []
    clock.advance(0.001)
    assert disk.times() == [1]
    clock.advance(180)
    assert disk.times() == [1, 2, 3, 4]
    assert [(m.topic, m.queue_id, m.body) for m in disk.log] == [
        ("orders", queue, "ä".encode()) for queue in (0, 1, 2, 0)
    ]
    assert disk.log[0].properties == {
        "TAGS": "daily",
        "KEYS": "k",
        "region": "north",
        "SCHEDULE": "report",
        "SCHEDULE_NUMBER": "1",
        "SCHEDULE_TIME": str(START + MINUTE),
    }
    assert running.service.counters() == {"schedules": "1", "scheduleMessages": "4"}


def test_a_queue_may_be_chosen(disk: Disk, clock: ManualClock) -> None:
    Running(disk, clock).create(queue_id=2)
    clock.advance(120)
    assert [message.queue_id for message in disk.log] == [2, 2]


@pytest.mark.parametrize(
    "point", ["before it is stored", "before it is noted", "before notes are saved", "after"]
)
@pytest.mark.parametrize("number", [1, 3])
def test_killed_at_any_point_each_time_is_sent_once(
    disk: Disk, clock: ManualClock, point: str, number: int
) -> None:
    running = Running(disk, clock)
    running.create()
    if point == "before it is stored":
        running.port.kill_before = number
    elif point == "before it is noted":
        running.port.kill_after = number
    try:
        clock.advance(60 * number)
    except Killed:
        pass
    else:
        assert point in ("before notes are saved", "after")
    if point == "after":
        running.save("schedulesSent.json")
    running.service.abandon()
    stored = number - (point == "before it is stored")
    assert disk.times() == list(range(1, stored + 1))

    again = Running(disk, clock)
    clock.advance(0)
    assert disk.times() == list(range(1, number + 1))
    clock.advance(60)
    assert disk.times() == list(range(1, number + 2))
    again.stop()
    Running(disk, clock)
    clock.advance(60)
    assert disk.times() == list(range(1, number + 3))


def test_a_log_whose_end_was_lost_is_believed_more_than_the_notes(disk: Disk, clock: ManualClock) -> None:
    running = Running(disk, clock)
    running.create(missed="all")
    clock.advance(180)
    running.save("schedulesSent.json")
    running.service.abandon()
    del disk.log[1:]
    Running(disk, clock)
    clock.advance(0)
    assert disk.times() == [1, 2, 3]


@pytest.mark.parametrize(
    ("missed", "made_up"), [("skip", []), ("one", [9]), ("all", [2, 3, 4, 5, 6, 7, 8, 9])]
)
def test_times_missed_while_the_broker_was_down(
    disk: Disk, clock: ManualClock, missed: str, made_up: list[int]
) -> None:
    running = Running(disk, clock, grace_seconds=10)
    running.create(missed=missed)
    clock.advance(60)
    running.stop()
    clock.advance(60 * 8 + 30)
    Running(disk, clock, grace_seconds=10)
    clock.advance(0)
    assert disk.times() == [1, *made_up]
    clock.advance(30)
    assert disk.times() == [1, *made_up, 10]


def test_many_missed_times_leave_turns_to_others(disk: Disk, clock: ManualClock) -> None:
    running = Running(disk, clock)
    running.create(missed="all")
    running.stop()
    clock.advance(60 * 200)
    again = Running(disk, clock)
    clock.advance(0)
    assert disk.times() == list(range(1, 201))
    assert again.port.task.turns == 4


def test_while_the_store_takes_nothing_messages_wait(
    disk: Disk, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    running = Running(disk, clock)
    running.create()
    running.port.refuses = True
    clock.advance(65)
    assert disk.log == []
    (state,) = running.service.list_all(None, None).schedules  # type: ignore[arg-type]
    assert state.problem == "schedule report: the disk is full"
    running.port.refuses = False
    clock.advance(1)
    assert disk.times() == [1]
    (state,) = running.service.list_all(None, None).schedules  # type: ignore[arg-type]
    assert (state.problem, state.last_ms) == ("", START + MINUTE)
    told = [(each.levelname, each.getMessage().partition(" schedule=")[0]) for each in caplog.records]
    assert told == [
        ("ERROR", "a message of a schedule waits"),
        ("ERROR", "messages of a schedule are sent again"),
    ]


def test_a_topic_that_is_gone_holds_up_its_schedule_alone(disk: Disk, clock: ManualClock) -> None:
    running = Running(disk, clock)
    running.port.known["bills"] = TopicConfig("bills", write_queue_nums=1)
    running.create(name="a", topic="bills")
    running.create(name="b")
    del running.port.known["bills"]
    clock.advance(60)
    assert [message.topic for message in disk.log] == ["orders"]
    first, _ = running.service.list_all(None, None).schedules  # type: ignore[arg-type]
    assert "topic bills does not exist at broker broker-a; create it first" in first.problem


def test_copies_that_others_sent_are_no_firings(disk: Disk, clock: ManualClock) -> None:
    running = Running(disk, clock)
    running.create()
    forged = {"SCHEDULE_NUMBER": "1", "SCHEDULE_TIME": str(START + 90 * MINUTE)}
    disk.append("orders", 0, b"x", forged, encode_host("127.0.0.1:5000"))
    disk.append("orders", 0, b"x", {"SCHEDULE_NUMBER": "x", "SCHEDULE_TIME": "y"})
    running.service.abandon()
    Running(disk, clock)
    clock.advance(60)
    assert disk.times() == [1]


def test_pause_resume_and_remove(disk: Disk, clock: ManualClock) -> None:
    running = Running(disk, clock)
    running.create(missed="all")
    assert running.service.pause(PauseSchedule("report"), None).next_ms is None  # type: ignore[arg-type]
    running.save("schedules.json")
    running.service.abandon()
    running = Running(disk, clock)
    clock.advance(150)
    assert disk.log == []
    assert running.service.resume(ResumeSchedule("report"), None).next_ms == START + 3 * MINUTE  # type: ignore[arg-type]
    clock.advance(30)
    assert disk.times() == [3]
    running.service.remove(RemoveSchedule("report"), None)  # type: ignore[arg-type]
    clock.advance(120)
    assert disk.times() == [3]


@pytest.mark.parametrize(
    ("fields", "code", "said"),
    [
        ({"topic": "rmq_sys_wheel_timer"}, 16, "topic rmq_sys_wheel_timer is the system's own"),
        ({"topic": "nothing"}, 17, "topic nothing does not exist at broker broker-a; create it first"),
        ({"queue_id": 3}, 29, "topic orders has 3 queues, none is 3"),
        ({"expression": "x"}, 29, "cron expression 'x': wrong number of fields"),
        ({"zone": "Mars"}, 29, "time zone 'Mars' is not known"),
        ({"body": ""}, 29, "its body has 0 bytes"),
        ({"name": "taken"}, 29, "schedule taken exists at broker broker-a already; remove it first"),
    ],
)
def test_what_is_wrong_is_refused(
    disk: Disk, clock: ManualClock, fields: dict[str, Any], code: int, said: str
) -> None:
    running = Running(disk, clock)
    running.create(name="taken")
    with pytest.raises(Refusal) as caught:
        running.create(**fields)
    assert caught.value.code == code
    assert said in caught.value.remark
    assert len(running.service.list_all(None, None).schedules) == 1  # type: ignore[arg-type]


def test_unknown_names_are_refused_with_those_that_are_known(disk: Disk, clock: ManualClock) -> None:
    running = Running(disk, clock)
    running.create(name="a")
    running.create(name="b")
    for refused in (
        lambda: running.service.pause(PauseSchedule("c"), None),  # type: ignore[arg-type]
        lambda: running.service.resume(ResumeSchedule("c"), None),  # type: ignore[arg-type]
        lambda: running.service.remove(RemoveSchedule("c"), None),  # type: ignore[arg-type]
    ):
        with pytest.raises(Refusal) as caught:
            refused()
        assert caught.value.code == 22
        assert caught.value.remark == "schedule c does not exist at broker broker-a; known: a, b"


def test_there_may_be_so_many_schedules(disk: Disk, clock: ManualClock) -> None:
    running = Running(disk, clock, schedules_max=1)
    running.create(name="a")
    with pytest.raises(Refusal, match=r"option schedules_max"):
        running.create(name="b")


def test_a_zone_that_is_not_known_any_more_stops_no_broker(disk: Disk, clock: ManualClock) -> None:
    running = Running(disk, clock)
    running.create(name="a")
    running.create(name="b")
    running.service.abandon()
    text = disk.tables["schedules.json"].replace(b'"UTC"', b'"Mars"', 1)
    disk.tables["schedules.json"] = text
    again = Running(disk, clock)
    clock.advance(60)
    assert [message.properties["SCHEDULE"] for message in disk.log] == ["b"]
    assert [state.next_ms is None for state in again.service.list_all(None, None).schedules] == [True, False]  # type: ignore[arg-type]


def test_the_log_is_read_from_where_it_was_saved_last(disk: Disk, clock: ManualClock) -> None:
    for _ in range(5):
        disk.append("orders", 0, b"x", {})
    running = Running(disk, clock)
    running.create()
    for _ in range(5):
        disk.append("orders", 0, b"x", {})
    messages = running.service.tables()[1].table
    before = messages.changes
    (periodic,) = running.service.periodic()
    periodic.action()
    assert messages.changes == before + 1
    running.save("schedulesSent.json")
    periodic.action()
    assert messages.changes == before + 1, "the log did not grow"
    assert (
        loose_json.decode(disk.tables["schedulesSent.json"], running.service.tables()[1].body).scan_from
        == 1000
    )  # type: ignore[attr-defined]


class TestConformance(BrokerServiceConformance):
    """What every service of a broker has to do."""

    def make(self, port: BrokerPort) -> Schedules:
        return Schedules(port, SchedulesOptions())
