"""Schedules as definitions of a cluster."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from mqframe_schedules import SchedulesAdmin
from mqframe_schedules.definitions import ScheduleDefinitions, ScheduleSpec
from mqframe_testing import Cluster

from mqframe import Admin
from mqframe.core.errors import FixError, SettingError

DAILY = ScheduleSpec("0 8 * * *", "reports", "yesterday", "Europe/Berlin", tag="daily", keys=["k"])


@pytest.fixture
def admin() -> Iterator[Admin]:
    with Cluster(2, broker={"services": ("schedules",)}) as cluster:
        cluster.create_topic("reports", 2)
        with Admin(nameserver=cluster.nameserver) as made:
            yield made


def test_a_schedule_is_read_as_it_was_made(admin: Admin) -> None:
    schedules = ScheduleDefinitions(admin)
    schedules.apply("daily", DAILY, new=True)
    assert schedules.current(None) == {"daily": {"broker-a": DAILY}}
    assert schedules.current(["another"]) == schedules.current([]) == {}
    schedules.delete("daily")
    assert schedules.current(None) == {}


def test_a_changed_one_takes_the_place_of_the_old_and_a_paused_one_stays(admin: Admin) -> None:
    schedules = ScheduleDefinitions(admin)
    schedules.apply("daily", DAILY, new=True)
    later = ScheduleSpec("0 9 * * *", "reports", "yesterday", paused=True)
    schedules.apply("daily", later, new=False)
    assert schedules.current(None) == {"daily": {"broker-a": later}}
    (before,) = SchedulesAdmin(admin).list()
    again = ScheduleSpec("0 9 * * *", "reports", "yesterday")
    schedules.apply("daily", again, new=False)
    assert schedules.current(None) == {"daily": {"broker-a": again}}
    (after,) = SchedulesAdmin(admin).list()
    assert after.schedule.number == before.schedule.number


def test_a_schedule_without_its_time_is_refused(admin: Admin) -> None:
    said = r"\[schedules.daily\]: a schedule needs expression, topic and body"
    with pytest.raises(SettingError, match=said):
        ScheduleDefinitions(admin).apply("daily", ScheduleSpec(topic="reports", body="x"), new=True)


def test_a_cluster_without_the_service_has_none() -> None:
    with Cluster() as cluster, Admin(nameserver=cluster.nameserver) as admin:
        schedules = ScheduleDefinitions(admin)
        assert schedules.current(None) == {}
        with pytest.raises(FixError, match="serves no schedules"):
            schedules.current(["daily"])
