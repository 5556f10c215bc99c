"""Requests for queues that the broker assigns, and for whether a group pulls or pops them.

Sources: QueryAssignmentRequestHeader.java, SetMessageRequestModeRequestHeader.java.
"""

from __future__ import annotations

from mqframe.core.requests.fields import Request, request
from mqframe.core.requests.lasting import AtSlaves, Saved
from mqframe.core.requests.needs import Action, Actions, Need, all_groups, group_need, of_body, topic_need
from mqframe.core.wire.bodies import Body


class _TopicAndGroup(Body):
    topic: str
    consumer_group: str


def _both(body: _TopicAndGroup, actions: Actions) -> list[Need]:
    return [topic_need(body.topic, actions), group_need(body.consumer_group, actions)]


_READ = of_body(_TopicAndGroup, lambda body: _both(body, (Action.SUB,)))
_CHANGE = of_body(_TopicAndGroup, lambda body: _both(body, (Action.UPDATE,)), changes=True)


@request(400, body="QueryAssignmentBody", answer_body="AssignmentsBody", needs=_READ, since="5.0.0")
class QueryAssignment(Request):
    """Which queues has a member, and does it pull or pop them?"""


@request(
    401,
    body="RequestModeBody",
    needs=_CHANGE,
    since="5.0.0",
    at_slaves=AtSlaves.TABLES,
    saved=Saved.TABLES,
)
class SetMessageRequestMode(Request):
    """A group pulls or pops a topic from now on."""


@request(402, answer_body="RequestModeTable", needs=all_groups(Action.LIST), since="5.0.0")
class GetAllMessageRequestMode(Request):
    """All modes that were set."""
