"""Quotas of a cluster, for programs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from mqframe_quotas import Quota, QuotasAdmin
from mqframe_testing import Cluster

from mqframe import Admin
from mqframe.core.errors import AnswerError, FixError

ALICE = Quota(kind="user", name="alice", send_messages=5, connections=2)


@pytest.fixture
def admin() -> Iterator[Admin]:
    with (
        Cluster(2, broker={"services": ("quotas",)}) as cluster,
        Admin(nameserver=cluster.nameserver) as made,
    ):
        yield made


def test_a_quota_is_set_shown_and_deleted_at_all_brokers(admin: Admin) -> None:
    quotas = QuotasAdmin(admin)
    assert quotas.list() == []
    quotas.set(ALICE)
    assert [(each.broker, each.quota, each.kept) for each in quotas.list()] == [
        ("broker-a", ALICE, True),
        ("broker-b", ALICE, True),
    ]
    assert [(each.broker, each.quota, each.left) for each in quotas.show("user", "alice")] == [
        ("broker-a", ALICE, {"send_messages": 5, "connections": 2}),
        ("broker-b", ALICE, {"send_messages": 5, "connections": 2}),
    ]
    assert [each.quota for each in quotas.show("user", "bob")] == [None, None]
    quotas.delete("user", "alice")
    with pytest.raises(AnswerError, match="no quota of user alice was set at broker broker-a"):
        quotas.delete("user", "alice")


def test_one_broker_may_have_its_own(admin: Admin) -> None:
    QuotasAdmin(admin, broker="broker-b").set(ALICE)
    assert [each.broker for each in QuotasAdmin(admin).list()] == ["broker-b"]
    QuotasAdmin(admin).delete("user", "alice")
    assert QuotasAdmin(admin).list() == []


def test_what_is_no_quota_is_refused_before_it_is_sent(admin: Admin) -> None:
    with pytest.raises(FixError, match="connections cannot be limited by topic"):
        QuotasAdmin(admin).set(Quota(kind="topic", name="t", connections=1))
    with pytest.raises(AnswerError, match="'tenant' is none of these"):
        QuotasAdmin(admin).show("tenant", "a")


def test_a_cluster_without_the_service_says_what_to_do() -> None:
    with Cluster() as cluster, Admin(nameserver=cluster.nameserver) as admin:
        for ask in (lambda: QuotasAdmin(admin).list(), lambda: QuotasAdmin(admin).set(ALICE)):
            with pytest.raises(FixError, match=r'start it with broker\.services = \["quotas"\]'):
                ask()
