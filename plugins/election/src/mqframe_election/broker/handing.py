"""What brokers of elected groups answer to who wants another one to lead."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mqframe_admin.requests import HandOverLead, HandOverLeadAnswer

from mqframe.core.codes import ResponseCode
from mqframe.core.errors import Refusal
from mqframe.core.requests.serving import Call, Handler, handlers_of, serves
from mqframe_election.broker.roles import LeaderRole
from mqframe_election.rules.group import LeaderNote

Watch = Callable[[Mapping[int, Handler]], dict[int, Handler]]
"""As `Replication.watch`."""


class HandingLeader:
    """The leader, which hands over its lead."""

    def __init__(self, role: LeaderRole) -> None:
        self._role = role

    @serves(HandOverLead)
    async def hand_over(self, fields: HandOverLead, call: Call) -> HandOverLeadAnswer:
        epoch = self._role.replicas.epoch
        return HandOverLeadAnswer(epoch, await self._role.hand_over(fields.to, fields.wait_ms / 1000))


class LeadlessFollower:
    """A follower, which has no lead. `leader`: who has it, `None`: nobody."""

    def __init__(self, leader: Callable[[], LeaderNote | None]) -> None:
        self._leader = leader

    @serves(HandOverLead)
    def hand_over(self, fields: HandOverLead, call: Call) -> None:
        leader = self._leader()
        who = "nobody leads its group" if leader is None else f"broker {leader.id} at {leader.address} leads"
        raise Refusal(ResponseCode.SYSTEM_ERROR, f"this broker has no lead to hand over: {who}")


def answering(watch: Watch, who: HandingLeader | LeadlessFollower) -> Watch:
    """`watch`, and the answers of `who` in place of those of brokers of no group."""
    return lambda handlers: {**watch(handlers), **handlers_of(who)}
