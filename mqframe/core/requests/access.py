"""Requests for users and policies (wire.md §3.5; ACL 2.0 of Apache RocketMQ 5.3)."""

from __future__ import annotations

from mqframe.core.requests.fields import Request, request
from mqframe.core.requests.needs import Action, cluster

_UPDATE = cluster(Action.UPDATE)
_GET = cluster(Action.GET)


@request(3001, body="UserInfo", needs=_UPDATE)
class AuthCreateUser(Request):
    """Make a user."""

    username: str


@request(3002, body="UserInfo", needs=_UPDATE)
class AuthUpdateUser(Request):
    """Change what the body names of a user."""

    username: str


@request(3003, needs=_UPDATE)
class AuthDeleteUser(Request):
    """Delete a user with all policies."""

    username: str


@request(3004, answer_body="UserInfo", needs=_GET)
class AuthGetUser(Request):
    """One user; without a body where there is none."""

    username: str


@request(3005, answer_body="list of UserInfo", needs=_GET)
class AuthListUser(Request):
    """The users whose names contain `filter`."""

    filter: str | None = None


@request(3006, body="AclInfo", needs=_UPDATE)
class AuthCreateAcl(Request):
    """Give policies to a subject; entries for a resource that it has already are replaced."""

    subject: str


@request(3007, body="AclInfo", needs=_UPDATE)
class AuthUpdateAcl(Request):
    """As `AuthCreateAcl`."""

    subject: str


@request(3008, needs=_UPDATE)
class AuthDeleteAcl(Request):
    """Take the entries for a resource from a subject; without one all policies."""

    subject: str
    policy_type: str | None = None
    resource: str | None = None


@request(3009, answer_body="AclInfo", needs=_GET)
class AuthGetAcl(Request):
    """The policies of a subject; without a body where it has none."""

    subject: str


@request(3010, answer_body="list of AclInfo", needs=_GET)
class AuthListAcl(Request):
    """The policies whose subject and resources contain what the filters say."""

    subject_filter: str | None = None
    resource_filter: str | None = None
