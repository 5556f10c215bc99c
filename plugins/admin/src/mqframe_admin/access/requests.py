"""Requests for users and policies (wire.md §3.5; ACL 2.0 of Apache RocketMQ 5.3), and for accounts of 4.9."""

from __future__ import annotations

from typing import Annotated

from mqframe.core.parameters import Since
from mqframe.core.requests.fields import Header, Request, request
from mqframe.core.requests.needs import Action, cluster

_UPDATE = cluster(Action.UPDATE)
_GET = cluster(Action.GET)


@request(50, needs=_UPDATE)
class UpdateAndCreateAclConfig(Request):
    """Make or change an account of 4.9. Permissions are separated by commas, as "orders=PUB|SUB"."""

    access_key: str
    secret_key: str | None = None
    white_remote_address: str | None = None
    admin: bool | None = None
    default_topic_perm: str | None = None
    default_group_perm: str | None = None
    topic_perms: str | None = None
    group_perms: str | None = None


@request(51, needs=_UPDATE)
class DeleteAclConfig(Request):
    """Delete an account of 4.9."""

    access_key: str


class AclVersionAnswer(Header):
    """Versions of the files with accounts, as JSON: of the main one, and of all by their paths."""

    version: str
    broker_name: str
    broker_addr: str
    cluster_name: str
    all_acl_file_version: str | None = None


@request(52, AclVersionAnswer, needs=_GET)
class GetBrokerClusterAclInfo(Request):
    """How often the files with accounts were changed, and when."""


@request(53, needs=_UPDATE)
class UpdateGlobalWhiteAddrsConfig(Request):
    """From where nobody is asked who sends a request, separated by commas.

    `acl_file_full_path`: the file that says so from now on; empty: the main one.
    """

    global_white_addrs: str
    acl_file_full_path: Annotated[str | None, Since("4.9.4", ("",))] = None


@request(54, answer_body="AclConfig", needs=_GET)
class GetBrokerClusterAclConfig(Request):
    """All accounts of 4.9, with their secrets."""


@request(3001, body="UserInfo", needs=_UPDATE, since="5.3.0")
class AuthCreateUser(Request):
    """Make a user."""

    username: str


@request(3002, body="UserInfo", needs=_UPDATE, since="5.3.0")
class AuthUpdateUser(Request):
    """Change what the body names of a user."""

    username: str


@request(3003, needs=_UPDATE, since="5.3.0")
class AuthDeleteUser(Request):
    """Delete a user with all policies."""

    username: str


@request(3004, answer_body="UserInfo", needs=_GET, since="5.3.0")
class AuthGetUser(Request):
    """One user; without a body where there is none."""

    username: str


@request(3005, answer_body="list of UserInfo", needs=_GET, since="5.3.0")
class AuthListUser(Request):
    """The users whose names contain `filter`."""

    filter: str | None = None


@request(3006, body="AclInfo", needs=_UPDATE, since="5.3.0")
class AuthCreateAcl(Request):
    """Give policies to a subject; entries for a resource that it has already are replaced."""

    subject: str


@request(3007, body="AclInfo", needs=_UPDATE, since="5.3.0")
class AuthUpdateAcl(Request):
    """As `AuthCreateAcl`."""

    subject: str


@request(3008, needs=_UPDATE, since="5.3.0")
class AuthDeleteAcl(Request):
    """Take the entries for a resource from a subject; without one all policies."""

    subject: str
    policy_type: str | None = None
    resource: str | None = None


@request(3009, answer_body="AclInfo", needs=_GET, since="5.3.0")
class AuthGetAcl(Request):
    """The policies of a subject; without a body where it has none."""

    subject: str


@request(3010, answer_body="list of AclInfo", needs=_GET, since="5.3.0")
class AuthListAcl(Request):
    """The policies whose subject and resources contain what the filters say."""

    subject_filter: str | None = None
    resource_filter: str | None = None
