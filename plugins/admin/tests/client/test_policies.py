"""Policies of users, by an administrator of two brokers that check who asks."""

from __future__ import annotations

from mqframe import Admin


def test_policies_are_set_listed_and_deleted(operator: Admin) -> None:
    operator.users.create("clerk", "secret")
    operator.policies.set("clerk", ["Topic:a", "Topic:b*"], actions=["Pub", "Sub"], sources=["10.0.0.0/8"])
    operator.policies.set("clerk", ["Group:*"], allow=False)
    (found,) = operator.policies.list("clerk")
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
    operator.policies.delete("clerk", "Topic:a")
    assert operator.policies.list(resource="Topic:a") == []
    operator.policies.delete("clerk")
    assert operator.policies.list("clerk") == []
    operator.users.delete("clerk")
