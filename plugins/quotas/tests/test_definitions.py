"""Quotas as definitions of a cluster."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from mqframe_quotas import Quota, QuotasAdmin, QuotaSettings
from mqframe_quotas.definitions import QuotaDefinitions, QuotaSpec
from mqframe_testing import Cluster

from mqframe import Admin
from mqframe.core.errors import FixError, SettingError

SLOW = QuotaSpec(send_messages=5)


@pytest.fixture
def admin() -> Iterator[Admin]:
    sections = [QuotaSettings(limits=("topic:orders read_bytes=5",))]
    with (
        Cluster(2, broker={"services": ("quotas",)}, sections=sections) as cluster,
        Admin(nameserver=cluster.nameserver) as made,
    ):
        yield made


def test_a_quota_is_read_as_it_was_made_and_those_of_settings_are_none(admin: Admin) -> None:
    quotas = QuotaDefinitions(admin)
    assert quotas.current(None) == {}
    quotas.apply("user:*", SLOW, new=True)
    assert quotas.current(None) == {"user:*": {"broker-a": SLOW, "broker-b": SLOW}}
    assert quotas.current(["group:shop"]) == quotas.current([]) == {}
    quotas.apply("user:*", QuotaSpec(connections=3), new=False)
    assert quotas.current(["user:*"])["user:*"]["broker-b"] == QuotaSpec(connections=3)
    quotas.delete("user:*")
    assert quotas.current(None) == {}


def test_a_broker_that_lacks_one_is_seen(admin: Admin) -> None:
    QuotasAdmin(admin, broker="broker-b").set(Quota(kind="user", name="a", send_messages=5))
    assert QuotaDefinitions(admin).current(None) == {"user:a": {"broker-a": None, "broker-b": SLOW}}


def test_a_bad_name_is_refused(admin: Admin) -> None:
    with pytest.raises(SettingError, match=r'\[quotas\."alice"\]: .*; the name of a quota is "KIND:NAME"'):
        QuotaDefinitions(admin).apply("alice", SLOW, new=True)


def test_a_cluster_without_the_service_has_none() -> None:
    with Cluster() as cluster, Admin(nameserver=cluster.nameserver) as admin:
        quotas = QuotaDefinitions(admin)
        assert quotas.current(None) == {}
        with pytest.raises(FixError, match="serves no quotas"):
            quotas.current(["user:a"])
