"""Consumer groups as definitions, on two brokers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from mqframe_definitions.kinds.groups import Groups, GroupSpec, GrowingWaits
from mqframe_testing import Cluster

from mqframe import Admin
from mqframe.core.consuming.group_config import SubscriptionGroupConfig


@pytest.fixture
def admin() -> Iterator[Admin]:
    with Cluster(2) as cluster, Admin(nameserver=cluster.nameserver) as made:
        yield made


@pytest.mark.parametrize(
    "wanted",
    [
        GroupSpec(),
        GroupSpec(retries_max=3, retry_waits=[1000, 60_000], enabled=False, broadcast=False, ordered=True),
        GroupSpec(retry_waits=GrowingWaits(1000, 60_000, 3), retry_queues=2, attributes={"colour": "blue"}),
    ],
    ids=["default", "listed waits", "growing waits"],
)
def test_a_group_is_read_as_it_was_made_at_each_broker(admin: Admin, wanted: GroupSpec) -> None:
    groups = Groups(admin)
    before = groups.current(None)
    assert "billing" not in before
    groups.apply("billing", wanted, new=True)
    assert groups.current(["billing"]) == {"billing": {"broker-a": wanted, "broker-b": wanted}}
    assert groups.current(None).keys() == {*before, "billing"}
    groups.delete("billing")
    assert groups.current(["billing"]) == {}


def test_what_no_definition_has_a_field_for_stays(admin: Admin) -> None:
    admin.groups.create(SubscriptionGroupConfig("billing", consume_timeout_minute=7, group_sys_flag=2))
    groups = Groups(admin)
    groups.current(["billing"])
    groups.apply("billing", GroupSpec(retries_max=1), new=False)
    config = admin.groups.configs()["billing"]
    assert (config.retry_max_times, config.consume_timeout_minute, config.group_sys_flag) == (1, 7, 2)


def test_a_broker_without_the_group_is_a_place_that_lacks_it(admin: Admin) -> None:
    admin.groups.create("billing", broker="broker-b")
    assert Groups(admin).current(["billing"]) == {"billing": {"broker-a": None, "broker-b": GroupSpec()}}
