"""What a broker of an elected group is at the moment, and what it shares with the elections."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

import attrs

from mqframe_election.broker.replica_state import ReplicaState
from mqframe_election.rules.group import GroupState
from mqframe_election.rules.replicas import FollowerReplicas, LeaderReplicas
from mqframe_election.rules.term import LeaderTerm


@attrs.frozen
class LeaderRole:
    """The leader of one term. `ring`: has the set looked at soon; `opened`: is called when the log is open to
    followers; `brokers`, `hand_over`: as of `ElectionService`."""

    replica: ReplicaState
    term: LeaderTerm
    replicas: LeaderReplicas
    ring: Callable[[], object]
    opened: Callable[[], object]
    brokers: Callable[[], Mapping[int, str]]
    hand_over: Callable[[int, float], Awaitable[int]]


@attrs.frozen
class FollowerRole:
    """A copy.

    `process`: names this start of the process; `cut`: has the broker stopped, its log cut at an offset, and
    made anew; `forced_epoch`: the last term that an operator forced; `force`: `ElectionService.force`, upon
    whether loss is accepted; `trouble`: why the group has no leader, as far as this broker knows; `brokers`:
    as of `ElectionService`.
    """

    replica: ReplicaState
    replicas: FollowerReplicas
    process: str
    cut: Callable[[int], object]
    forced_epoch: Callable[[], int]
    force: Callable[[bool], Awaitable[GroupState]]
    trouble: Callable[[], str]
    brokers: Callable[[], Mapping[int, str]]


ElectedRole = LeaderRole | FollowerRole


def listed_brokers(role: ElectedRole) -> str:
    """The brokers of the group as a counter: "number=host:port" each, no address where one is away."""
    return " ".join(f"{number}={address}" for number, address in sorted(role.brokers().items()))
