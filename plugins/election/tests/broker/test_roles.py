"""What brokers of a group tell of one another."""

from __future__ import annotations

from typing import Any

from mqframe_election.broker.roles import FollowerRole, listed_brokers


def test_the_brokers_of_a_group_are_told_by_number_and_without_an_address_where_they_are_away() -> None:
    nothing: Any = None
    where = {3: "10.0.0.3:10911", 1: "10.0.0.1:10911", 2: ""}
    role = FollowerRole(nothing, nothing, "", nothing, nothing, nothing, nothing, lambda: where)
    assert listed_brokers(role) == "1=10.0.0.1:10911 2= 3=10.0.0.3:10911"
