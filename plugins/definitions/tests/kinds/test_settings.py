"""Live settings of brokers as definitions, on two brokers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from mqframe_definitions.cluster import applied, exported, plan
from mqframe_definitions.document import read_document, write_document
from mqframe_definitions.kinds.settings import Settings, SettingSpec
from mqframe_testing import Cluster

from mqframe import Admin
from mqframe.core.errors import FixedSetting, SettingError

KEEP = "store.keep_hours"


@pytest.fixture
def admin() -> Iterator[Admin]:
    with Cluster(2) as cluster, Admin(nameserver=cluster.nameserver) as made:
        yield made


def planned(admin: Admin, text: str, *, prune: bool = False) -> tuple[dict[str, Any], list[Any]]:
    kinds: dict[str, Any] = {"settings": Settings(admin)}
    return kinds, plan(kinds, read_document(text, {"settings": SettingSpec}, "cluster.toml"), prune=prune)


def test_only_what_was_changed_is_a_definition(admin: Admin) -> None:
    settings = Settings(admin)
    assert settings.current(None) == {}
    settings.apply(KEEP, SettingSpec(48), new=True)
    assert settings.current(None) == {KEEP: {"broker-a": SettingSpec(48), "broker-b": SettingSpec(48)}}
    settings.delete(KEEP)
    assert settings.current(None) == {}
    assert settings.current([KEEP])[KEEP]["broker-a"] == SettingSpec(72)


def test_a_file_is_applied_once_pruned_and_exported(admin: Admin) -> None:
    text = f'[settings."{KEEP}"]\nvalue = 48\n[settings."broker.auto_create_topics"]\nvalue = false\n'
    kinds, changes = planned(admin, text)
    assert [(each.name, each.fields) for each in changes] == [
        ("broker.auto_create_topics", {"value": ("true", "false")}),
        (KEEP, {"value": ("72", "48")}),
    ]
    list(applied(kinds, changes))
    assert planned(admin, text)[1] == []
    written = write_document(exported(kinds))
    assert planned(admin, written, prune=True)[1] == []
    kinds, changes = planned(admin, f'[settings."{KEEP}"]\nvalue = 48', prune=True)
    assert [(str(each.action), each.name) for each in changes] == [("delete", "broker.auto_create_topics")]
    list(applied(kinds, changes))
    assert list(kinds["settings"].current(None)) == [KEEP]


def test_one_broker_that_differs_is_set_right(admin: Admin) -> None:
    Settings(admin).apply(KEEP, SettingSpec(48), new=True)
    admin.brokers.update_config(admin.cluster.masters()["broker-b"], {KEEP: "24"})
    _, (change,) = planned(admin, f'[settings."{KEEP}"]\nvalue = 48')
    assert change.fields == {"value": ("48 / 24", "48")}


def test_what_brokers_do_not_know_or_may_not_change_is_named(admin: Admin) -> None:
    with pytest.raises(
        SettingError, match=r"\[settings.\"store.keep_hour\"\]: .* did you mean store.keep_hours"
    ):
        planned(admin, '[settings."store.keep_hour"]\nvalue = 1')
    with pytest.raises(SettingError, match=r"has the name store.keep_hours here; write"):
        Settings(admin).apply("fileReservedTime", SettingSpec(1), new=True)
    with pytest.raises(FixedSetting, match=r"store\.directory.*restart of broker broker-a"):
        planned(admin, '[settings."store.directory"]\nvalue = "/tmp"')


@pytest.mark.parametrize(
    ("one", "other"),
    [(48, "48"), (True, "true"), (45.0, "45.0"), (1.5, "1.5"), (["a", "b"], "a;b"), ("", "")],
)
def test_values_that_mean_the_same_are_the_same(one: Any, other: Any) -> None:
    assert SettingSpec(one) == SettingSpec(other)
    assert SettingSpec(one) != SettingSpec("another")
