"""Requests for users and policies."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from mqframe_acl.administration import Administration
from mqframe_acl.table import FILE, User, UserTable
from mqframe_admin.access import requests as kinds
from mqframe_admin.access.bodies import AclInfo, PolicyEntryInfo, PolicyInfo, UserInfo
from mqframe_testing.conformance import AccessStage

from mqframe.core.errors import Refusal
from mqframe.core.requests.fields import Request, encode_fields
from mqframe.core.requests.serving import Call, Reply, handlers_of
from mqframe.core.wire import loose_json
from mqframe.core.wire.frame import Frame


class Desk:
    """The administration, asked as a server would."""

    def __init__(self, **files: Any) -> None:
        self.table = UserTable(AccessStage(files=files))
        self._handlers = handlers_of(Administration(self.table))

    def ask(self, request: Request, body: Any = None, user: str = "admin") -> Any:
        raw = b"" if body is None else loose_json.dumps(body)
        peer: Any = None
        call = Call(Frame(request.CODE, ext=encode_fields(request), body=raw), peer, 0.0)
        call.user = user
        reply = self._handlers[request.CODE](call)
        assert isinstance(reply, Reply)
        assert reply.code == 0
        assert isinstance(reply.body, bytes)
        return msgspec.json.decode(reply.body) if reply.body else None

    def refused(self, request: Request, body: Any = None, user: str = "admin") -> Refusal:
        before = self.table.users, self.table.policies
        with pytest.raises(Refusal) as caught:
            self.ask(request, body, user)
        assert (self.table.users, self.table.policies) == before
        return caught.value


@pytest.fixture
def desk() -> Desk:
    made = Desk()
    made.ask(kinds.AuthCreateUser("shop"), UserInfo("secret", None, "Normal", "shop"))
    return made


def acl(resource: str = "Topic:orders", **change: Any) -> AclInfo:
    entry = {"resource": resource, "actions": ["Pub"], "decision": "Allow", **change}
    return AclInfo([PolicyInfo([PolicyEntryInfo(**entry)])])


def test_users(desk: Desk) -> None:
    assert desk.table.users["shop"] == User("shop", "secret")
    desk.ask(kinds.AuthUpdateUser("shop"), UserInfo(None, "disable", None, None))
    assert desk.table.users["shop"] == User("shop", "secret", enabled=False)
    desk.ask(kinds.AuthUpdateUser("shop"), UserInfo("other", "enable", "Super", None))
    assert desk.table.users["shop"] == User("shop", "other", everything=True)
    shown = {"password": "other", "userStatus": "enable", "userType": "Super", "username": "shop"}
    assert desk.ask(kinds.AuthGetUser("shop")) == shown
    assert [each["username"] for each in desk.ask(kinds.AuthListUser())] == ["admin", "shop"]
    assert desk.ask(kinds.AuthListUser("sho")) == [shown]
    assert desk.ask(kinds.AuthListUser("x")) is None
    desk.ask(kinds.AuthDeleteUser("shop"))
    desk.ask(kinds.AuthDeleteUser("shop"))
    assert desk.ask(kinds.AuthGetUser("shop")) is None


def test_secrets_are_for_those_who_may_do_everything(desk: Desk) -> None:
    assert "password" not in desk.ask(kinds.AuthGetUser("shop"), user="shop")
    assert all("password" not in each for each in desk.ask(kinds.AuthListUser(), user="shop"))


def test_such_users_are_made_by_such_users_alone(desk: Desk) -> None:
    for request, body in (
        (kinds.AuthCreateUser("evil"), UserInfo("secret", None, "Super", None)),
        (kinds.AuthUpdateUser("shop"), UserInfo(None, None, "Super", None)),
        (kinds.AuthUpdateUser("admin"), UserInfo("mine now", None, None, None)),
        (kinds.AuthDeleteUser("admin"), None),
    ):
        assert desk.refused(request, body, user="shop").code == 16


@pytest.mark.parametrize(
    ("request_", "body", "code"),
    [
        (kinds.AuthCreateUser("shop"), UserInfo("secret"), 16),
        (kinds.AuthCreateUser("new"), UserInfo(), 16),
        (kinds.AuthCreateUser("new"), UserInfo(" "), 16),
        (kinds.AuthCreateUser(""), UserInfo("secret"), 29),
        (kinds.AuthCreateUser("a\nb"), UserInfo("secret"), 29),
        (kinds.AuthCreateUser("new"), UserInfo("secret", "perhaps"), 16),
        (kinds.AuthCreateUser("new"), UserInfo("secret", None, "King"), 16),
        (kinds.AuthUpdateUser("gone"), UserInfo("secret"), 16),
        (kinds.AuthUpdateAcl("User:gone"), acl(), 16),
        (kinds.AuthUpdateAcl("shop"), acl(), 16),
        (kinds.AuthUpdateAcl("User:shop"), acl("orders"), 16),
        (kinds.AuthUpdateAcl("User:shop"), acl(decision="?"), 16),
        (kinds.AuthUpdateAcl("User:shop"), acl(source_ips=["here"]), 16),
        (kinds.AuthUpdateAcl("User:shop"), AclInfo(), 16),
        (kinds.AuthDeleteAcl("User:shop"), None, 16),
        (kinds.AuthGetAcl("User:gone"), None, 16),
    ],
)
def test_what_is_wrong_changes_nothing(desk: Desk, request_: Request, body: Any, code: int) -> None:
    assert desk.refused(request_, body).code == code


def test_policies(desk: Desk) -> None:
    assert desk.ask(kinds.AuthGetAcl("User:shop")) is None
    desk.ask(kinds.AuthCreateAcl("User:shop"), acl())
    desk.ask(
        kinds.AuthUpdateAcl("User:shop"), acl("Group:*", actions=["Sub", "get"], source_ips=["10.0.0.0/8"])
    )
    entries = [
        {"resource": "Topic:orders", "actions": ["Pub"], "decision": "Allow"},
        {"resource": "Group:*", "actions": ["Sub", "Get"], "decision": "Allow", "sourceIps": ["10.0.0.0/8"]},
    ]
    whole = {"subject": "User:shop", "policies": [{"policyType": "Custom", "entries": entries}]}
    assert desk.ask(kinds.AuthGetAcl("User:shop")) == whole
    assert desk.ask(kinds.AuthListAcl()) == [whole]
    assert desk.ask(kinds.AuthListAcl()) == [whole]
    (part,) = desk.ask(kinds.AuthListAcl("shop", "Topic"))
    assert part["policies"][0]["entries"] == entries[:1]
    assert desk.ask(kinds.AuthListAcl("nobody")) is None
    assert desk.ask(kinds.AuthListAcl(None, "Topic:x")) is None
    desk.ask(kinds.AuthDeleteAcl("User:shop", "Custom", "Topic:orders"))
    assert desk.ask(kinds.AuthGetAcl("User:shop"))["policies"][0]["entries"] == entries[1:]
    desk.ask(kinds.AuthDeleteAcl("User:shop"))
    assert desk.ask(kinds.AuthListAcl()) is None


def test_a_user_takes_its_policies_along(desk: Desk) -> None:
    desk.ask(kinds.AuthUpdateAcl("User:shop"), acl())
    desk.ask(kinds.AuthDeleteUser("shop"))
    assert desk.table.policies == {}


def test_a_full_disk_is_told() -> None:
    class Full:
        def load(self, decode: object) -> None:
            return None

        def save(self, content: bytes) -> None:
            raise OSError(28, "No space left on device")

    desk = Desk(**{FILE: Full()})
    refusal = desk.refused(kinds.AuthCreateUser("shop"), UserInfo("secret"))
    assert refusal.code == 1
    assert "No space left" in refusal.remark
