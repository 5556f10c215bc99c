"""The page of quotas in the dashboard."""

from __future__ import annotations

from mqframe_quotas import Quota, QuotasAdmin
from mqframe_quotas.panel import show
from mqframe_testing import Cluster

from mqframe import Admin, AsyncAdmin


async def test_it_shows_the_quotas_of_all_brokers() -> None:
    with Cluster(2, broker={"services": ("quotas",)}) as cluster:
        async with AsyncAdmin(nameserver=cluster.nameserver) as admin:
            assert await show(admin, {}) == [("Quotas", "there is none; mqframe quota set makes one")]
            with Admin(nameserver=cluster.nameserver) as blocking:
                QuotasAdmin(blocking).set(Quota(kind="user", name="alice", send_messages=5))
            row = {
                "kind": "user",
                "name": "alice",
                "limit": "send_messages",
                "most": 5,
                "used": 0,
                "throttled": 0,
                "from": "set",
            }
            assert await show(admin, {}) == [
                ("Quotas", [{**row, "broker": "broker-a"}, {**row, "broker": "broker-b"}])
            ]


async def test_it_says_where_there_are_none() -> None:
    with Cluster() as cluster:
        async with AsyncAdmin(nameserver=cluster.nameserver) as admin:
            assert (await show(admin, {}))[1:] == [
                ("Without quotas", "broker-a: the broker service quotas is not in use there")
            ]
