"""Users, by an administrator of two brokers that check who asks."""

from __future__ import annotations

import pytest
from mqframe_testing import Cluster

from mqframe import AccessError, Admin, AnswerError


def test_users_are_made_changed_listed_and_deleted(operator: Admin, asking: Cluster) -> None:
    operator.users.create("shop", "secret")
    with pytest.raises(AnswerError, match="there is a user shop already"):
        operator.users.create("shop", "secret")
    operator.users.update("shop", everything=True)
    operator.users.update("shop", enabled=False)
    (user,) = operator.users.list("sho")
    assert (user.username, user.user_type, user.user_status, user.password) == (
        "shop", "Super", "disable", "secret",
    )  # fmt: skip
    assert [each.username for each in operator.users.list(server=asking.nameserver)] == [
        "admin",
        "inner",
        "shop",
    ]
    operator.users.delete("shop", server=asking.nameserver)
    assert operator.users.list("shop") == []


def test_the_port_of_clients_is_none_for_operators(operator: Admin, asking: Cluster) -> None:
    operator.topics.create("orders")
    with pytest.raises(AnswerError, match="is for operators, who have a port of their own"):
        operator.users.create("shop", "secret", server=asking.broker.address)


def test_who_does_not_sign(asking: Cluster) -> None:
    with Admin(nameserver=asking.nameserver) as stranger, pytest.raises(AccessError):
        stranger.users.list()


def test_keys_are_checked_whatever_their_user_may_do(operator: Admin, asking: Cluster) -> None:
    server = asking.broker.address
    operator.users.check_keys()
    operator.users.create("idle", "secret")
    for user, secret, known in (
        ("idle", "secret", True),
        ("idle", "wrong", False),
        ("none", "secret", False),
    ):
        keys = {"access_key": user, "secret_key": secret}
        with Admin(nameserver=asking.nameserver, rpc_hooks=[("acl", keys)]) as other:
            if known:
                other.users.check_keys(server=server)
                continue
            with pytest.raises(AccessError):
                other.users.check_keys(server=server)
