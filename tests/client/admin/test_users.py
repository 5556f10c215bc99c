"""Users and policies, by an administrator of two brokers that check who asks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mqframe import AccessError, Admin, AnswerError, ClientSettings
from mqframe.net.access.settings import AccessSettings
from mqframe.testing import Cluster


@pytest.fixture(scope="module")
def asking() -> Iterator[Cluster]:
    cluster = Cluster(broker={"operator_port": 0})
    cluster.cluster.enforce(
        AccessSettings(
            authentication="acl2",
            authorization="acl2",
            initial_user="admin:secret78",
            inner_credentials="inner:secret78",
        )
    )
    with cluster:
        yield cluster


@pytest.fixture
def admin(asking: Cluster) -> Iterator[Admin]:
    port = int(asking.broker.operator_address.rpartition(":")[2])
    keys = {"access_key": "admin", "secret_key": "secret78"}
    settings = ClientSettings(nameserver=asking.nameserver, operator_port=port)
    with Admin(client=settings, rpc_hooks=[("acl", keys)]) as made:
        yield made


def test_users_and_policies(admin: Admin, asking: Cluster) -> None:
    admin.create_user("shop", "secret")
    with pytest.raises(AnswerError, match="there is a user shop already"):
        admin.create_user("shop", "secret")
    admin.update_user("shop", everything=True)
    admin.update_user("shop", enabled=False)
    (user,) = admin.users("sho")
    assert (user.username, user.user_type, user.user_status, user.password) == (
        "shop", "Super", "disable", "secret",
    )  # fmt: skip
    admin.set_policy("shop", ["Topic:a", "Topic:b*"], actions=["Pub", "Sub"], sources=["10.0.0.0/8"])
    admin.set_policy("shop", ["Group:*"], allow=False)
    (found,) = admin.policies("shop")
    entries = [
        (each.resource, each.actions, each.decision, each.source_ips)
        for policy in found.policies or ()
        for each in policy.entries or ()
    ]
    assert entries == [
        ("Topic:a", ["Pub", "Sub"], "Allow", ["10.0.0.0/8"]),
        ("Topic:b*", ["Pub", "Sub"], "Allow", ["10.0.0.0/8"]),
        ("Group:*", ["All"], "Deny", None),
    ]
    admin.remove_policy("shop", "Topic:a")
    assert admin.policies(resource="Topic:a") == []
    admin.remove_policy("shop")
    assert admin.policies("shop") == []
    assert [each.username for each in admin.users(server=asking.nameserver)] == ["admin", "inner", "shop"]
    admin.delete_user("shop", server=asking.nameserver)
    assert admin.users("shop") == []


def test_the_port_of_clients_is_none_for_operators(admin: Admin, asking: Cluster) -> None:
    admin.create_topic("orders")
    with pytest.raises(AnswerError, match="is for operators, who have a port of their own"):
        admin.create_user("shop", "secret", server=asking.broker.address)


def test_who_does_not_sign(asking: Cluster) -> None:
    with Admin(nameserver=asking.nameserver) as stranger, pytest.raises(AccessError):
        stranger.users()


def test_keys_are_checked_whatever_their_user_may_do(admin: Admin, asking: Cluster) -> None:
    server = asking.broker.address
    admin.check_keys()
    admin.create_user("idle", "secret")
    for user, secret, known in (
        ("idle", "secret", True),
        ("idle", "wrong", False),
        ("none", "secret", False),
    ):
        keys = {"access_key": user, "secret_key": secret}
        with Admin(nameserver=asking.nameserver, rpc_hooks=[("acl", keys)]) as other:
            if known:
                other.check_keys(server=server)
                continue
            with pytest.raises(AccessError):
                other.check_keys(server=server)
