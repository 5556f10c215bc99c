"""Requests for queues that the broker assigns, and for whether a group pulls or pops them.

Sources: QueryAssignmentRequestHeader.java, SetMessageRequestModeRequestHeader.java.
"""

from __future__ import annotations

from mqframe.core.requests.body_needs import ASSIGNMENT, REQUEST_MODE
from mqframe.core.requests.fields import Request, request
from mqframe.core.requests.lasting import AtSlaves, Saved
from mqframe.core.requests.needs import Action, all_groups


@request(400, body="QueryAssignmentBody", answer_body="AssignmentsBody", needs=ASSIGNMENT, since="5.0.0")
class QueryAssignment(Request):
    """Which queues has a member, and does it pull or pop them?"""


@request(
    401,
    body="RequestModeBody",
    needs=REQUEST_MODE,
    since="5.0.0",
    at_slaves=AtSlaves.TABLES,
    saved=Saved.TABLES,
)
class SetMessageRequestMode(Request):
    """A group pulls or pops a topic from now on."""


@request(402, answer_body="RequestModeTable", needs=all_groups(Action.LIST), since="5.0.0")
class GetAllMessageRequestMode(Request):
    """All modes that were set."""
