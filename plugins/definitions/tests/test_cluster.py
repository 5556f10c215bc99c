"""A cluster made as a file says, changed, and written as one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from mqframe_definitions.cluster import Kinds, applied, exported, plan
from mqframe_definitions.document import read_document, write_document
from mqframe_definitions.kind import installed_kinds
from mqframe_definitions.planning import Action
from mqframe_testing import Cluster

from mqframe import Admin
from mqframe.core.errors import MessageError

FILE = """
[topics.orders]
queues = 4

[topics.bills]
queues = 2
type = "FIFO"

[groups.billing]
retries_max = 3
retry_waits = [1000, 5000]
"""


@pytest.fixture
def admin() -> Iterator[Admin]:
    with Cluster(2) as cluster, Admin(nameserver=cluster.nameserver) as made:
        yield made


@pytest.fixture
def kinds(admin: Admin) -> Kinds:
    return installed_kinds(admin)


def stated(kinds: Kinds, text: str):
    return read_document(text, {name: kind.Spec for name, kind in kinds.items()}, "cluster.toml")


def names(changes) -> list[tuple[Action, str, str]]:
    return [(each.action, each.kind, each.name) for each in changes]


def test_a_file_is_applied_once_and_then_there_is_nothing_to_do(admin: Admin, kinds: Kinds) -> None:
    wanted = stated(kinds, FILE)
    first = plan(kinds, wanted)
    assert names(first) == [
        (Action.CREATE, "topics", "bills"),
        (Action.CREATE, "topics", "orders"),
        (Action.CREATE, "groups", "billing"),
    ]
    assert list(applied(kinds, first)) == first
    assert plan(kinds, wanted) == []
    assert {name: each.write_queue_nums for name, each in admin.topics.config("orders").items()} == {
        "broker-a": 4,
        "broker-b": 4,
    }
    assert admin.topics.route("bills").order_topic_conf == "broker-a:2;broker-b:2"


def test_what_somebody_changed_is_set_right(admin: Admin, kinds: Kinds) -> None:
    wanted = stated(kinds, FILE)
    list(applied(kinds, plan(kinds, wanted)))
    admin.topics.create("orders", queues=6, perm=4, broker="broker-b")
    (change,) = plan(kinds, wanted)
    assert (change.name, change.fields) == ("orders", {"queues": ("4 / 6", "4"), "perm": ("6 / 4", "6")})
    list(applied(kinds, [change]))
    assert plan(kinds, wanted) == []


def test_pruning_deletes_the_kinds_of_the_file_alone_and_last(admin: Admin, kinds: Kinds) -> None:
    list(applied(kinds, plan(kinds, stated(kinds, FILE))))
    smaller = stated(kinds, "[topics.orders]\nqueues = 5")
    assert names(plan(kinds, smaller)) == [(Action.CHANGE, "topics", "orders")]
    changes = plan(kinds, smaller, prune=True)
    assert names(changes) == [(Action.CHANGE, "topics", "orders"), (Action.DELETE, "topics", "bills")]
    list(applied(kinds, changes))
    assert list(kinds["topics"].current(None)) == ["orders"]
    assert "billing" in kinds["groups"].current(None)


def test_changes_are_made_one_after_the_other_until_one_fails(admin: Admin, kinds: Kinds) -> None:
    changes = plan(kinds, stated(kinds, '[topics.orders]\n[topics."spaced name"]\n[topics.zebra]'))
    made: list[str] = []
    with pytest.raises(MessageError, match="spaced name"):
        made.extend(change.name for change in applied(kinds, changes))
    assert made == list(kinds["topics"].current(None)) == ["orders"]


def test_what_is_exported_can_be_applied_elsewhere(admin: Admin, kinds: Kinds) -> None:
    list(applied(kinds, plan(kinds, stated(kinds, FILE))))
    text = write_document(exported(kinds))
    assert plan(kinds, stated(kinds, text), prune=True) == []
    with Cluster() as other, Admin(nameserver=other.nameserver) as another:
        elsewhere = installed_kinds(another)
        list(applied(elsewhere, plan(elsewhere, stated(elsewhere, text))))
        assert write_document(exported(elsewhere)) == text
