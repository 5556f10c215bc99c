"""Schedules over the wire, in clusters in the process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from mqframe_schedules import Schedule, SchedulesAdmin
from mqframe_testing import Cluster
from mqframe_testing.manual_clock import ManualClock

from mqframe import Admin, StoreReader
from mqframe.core.errors import AnswerError, FixError

START = 1_700_000_040_000


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with Cluster(2, broker={"services": ("schedules",)}) as made:
        made.create_topic("reports", 2)
        yield made


@pytest.fixture
def admin(cluster: Cluster) -> Iterator[Admin]:
    with Admin(nameserver=cluster.nameserver) as made:
        yield made


def schedule(name: str = "report", **fields: object) -> Schedule:
    given = {"name": name, "expression": "0 8 * * *", "topic": "reports", "body": "x"} | fields
    return Schedule(**given)  # type: ignore[arg-type]


def test_schedules_are_made_listed_paused_resumed_and_removed(admin: Admin) -> None:
    schedules = SchedulesAdmin(admin)
    assert schedules.list() == []
    made = schedules.create(schedule("b", zone="Europe/Berlin", missed="one", properties={"region": "north"}))
    assert made.broker == "broker-a"
    assert made.next_ms is not None
    assert (made.schedule.zone, made.schedule.missed, made.schedule.properties) == (
        "Europe/Berlin",
        "one",
        {"region": "north"},
    )
    schedules.create(schedule("a"), broker="broker-b")
    assert [(each.schedule.name, each.broker) for each in schedules.list()] == [
        ("a", "broker-b"),
        ("b", "broker-a"),
    ]
    assert schedules.pause("a").next_ms is None
    assert schedules.list()[0].schedule.paused
    assert schedules.resume("a").next_ms is not None
    schedules.remove("a")
    assert [each.schedule.name for each in schedules.list()] == ["b"]


def test_a_name_is_taken_once_in_a_cluster(admin: Admin) -> None:
    schedules = SchedulesAdmin(admin)
    schedules.create(schedule(), broker="broker-b")
    with pytest.raises(FixError, match="schedule report exists at broker broker-b already; remove it first"):
        schedules.create(schedule(), broker="broker-a")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"topic": "nothing"}, "nothing"),
        ({"expression": "8 o'clock"}, 'cron expression "8 o\'clock": wrong number of fields; give minute'),
        ({"zone": "Berlin"}, "time zone 'Berlin' is not known; give one of the IANA names"),
        ({"missed": "some"}, "say one of skip, one, all"),
        ({"queue_id": 5}, "topic reports has 2 queues, none is 5"),
    ],
)
def test_what_is_wrong_is_said_by_the_broker(admin: Admin, fields: dict[str, object], said: str) -> None:
    with pytest.raises(AnswerError) as caught:
        SchedulesAdmin(admin).create(schedule(**fields), broker="broker-a")
    assert said in str(caught.value)


def test_unknown_names_brokers_and_topics(admin: Admin) -> None:
    schedules = SchedulesAdmin(admin)
    schedules.create(schedule())
    for call in (schedules.pause, schedules.resume, schedules.remove):
        with pytest.raises(FixError, match="schedule rapport does not exist; known: report"):
            call("rapport")
    with pytest.raises(FixError, match="no master of nobody"):
        schedules.create(schedule("b"), broker="nobody")
    with pytest.raises(FixError, match="topic nothing does not exist; create it first"):
        schedules.create(schedule("b", topic="nothing"))


def test_brokers_without_the_service_say_how_to_get_it() -> None:
    said = pytest.raises(FixError, match=r"broker broker-a serves no schedules; .*broker.services")
    with Cluster(1) as cluster, Admin(nameserver=cluster.nameserver) as admin, said:
        SchedulesAdmin(admin).list()


@pytest.mark.parametrize("end", ["kill", "stop"])
def test_messages_come_once_over_ends_of_the_broker(end: str) -> None:
    clock = ManualClock(START)
    with Cluster(1, clock=clock, broker={"services": ("schedules",)}) as cluster:
        cluster.create_topic("reports", 1)
        with Admin(nameserver=cluster.nameserver) as admin:
            SchedulesAdmin(admin).create(schedule(expression="* * * * *"))
        for minutes in (3, 0, 1, 2):
            clock.advance_from_outside(cluster.loop, 60 * minutes)
            (cluster.kill_broker if end == "kill" else cluster.stop_broker)()
            cluster.start_broker()
        clock.advance_from_outside(cluster.loop, 60)
        times = planned(cluster)
    assert times == [START + 60_000 * number for number in range(1, 8)]


def planned(cluster: Cluster) -> list[int]:
    """The planned times of the messages that consumers may see."""
    cluster.stop_broker()
    reader = StoreReader(cluster.directory / "broker-a")
    return [int(each.properties["SCHEDULE_TIME"]) for each in reader.records("reports", 0, 0, 1000)]
