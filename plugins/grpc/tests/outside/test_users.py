from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from mqframe_admin.access.requests import AuthListAcl, AuthListUser
from mqframe_grpc.outside.users import FILE, BrokersFile, BrokerUsers

from mqframe.core.codes import ResponseCode
from mqframe.core.errors import CallTimeout, GiveUpError, MqframeError
from mqframe.core.requests.fields import Request
from mqframe.core.wire.frame import Frame

SHOP = {"username": "shop", "password": "secret", "userType": "Normal"}
POLICIES = [{"subject": "User:shop", "policies": [{"policyType": "Custom", "entries": []}]}]
UNKNOWN = Frame(ResponseCode.NO_PERMISSION, remark="Authentication failed. Please verify the credentials.")


class Brokers:
    """`users` and `policies` by name of the broker: what each answers, or the error that asking it raises."""

    def __init__(self, **users: Any) -> None:
        self.users = users
        self.policies: Mapping[str, Any] = dict.fromkeys(users, POLICIES)
        self.asked: list[tuple[str, type[Request]]] = []

    async def ask(self, broker: str, request: Request) -> Frame:
        self.asked.append((broker, type(request)))
        said = (self.users if isinstance(request, AuthListUser) else self.policies)[broker]
        if isinstance(said, MqframeError):
            raise said
        if isinstance(said, Frame):
            return said
        return Frame(0, body=memoryview(json.dumps(said).encode()) if said else b"")

    def known(self) -> BrokerUsers:
        return BrokerUsers(self.ask, lambda: sorted(self.users))


async def test_the_first_broker_that_tells_counts() -> None:
    brokers = Brokers(a=[SHOP], b=[])
    assert json.loads(await brokers.known().content()) == {"acls": POLICIES, "users": [SHOP]}
    assert brokers.asked == [("a", AuthListUser), ("a", AuthListAcl)]


@pytest.mark.parametrize(
    "first",
    [CallTimeout("late"), UNKNOWN, Frame(ResponseCode.REQUEST_CODE_NOT_SUPPORTED), [{"username": "x"}]],
)
async def test_one_that_does_not_tell_is_passed_over(first: object) -> None:
    brokers = Brokers(a=first, b=[SHOP])
    assert json.loads(await brokers.known().content()) == {"acls": POLICIES, "users": [SHOP]}
    assert brokers.asked[-1] == ("b", AuthListAcl)


async def test_nobody_and_nothing_granted_are_answers() -> None:
    brokers = Brokers(a=[])
    brokers.policies = {"a": []}
    assert json.loads(await brokers.known().content()) == {"acls": [], "users": []}


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        (UNKNOWN, "a answered 16 NO_PERMISSION: Authentication failed"),
        (Frame(ResponseCode.REQUEST_CODE_NOT_SUPPORTED, remark="no"), "a answered 3 .*: no"),
        (
            [SHOP, {"username": "other"}, {"username": "third", "password": ""}],
            "broker a tells no secret of 2 users, 'other' among them: .* ask as one "
            r"\(access.inner_credentials\)",
        ),
        (Frame(0, body=b"[{"), "JSON, character 2"),
    ],
)
async def test_what_is_not_told_is_an_error(said: object, problem: str) -> None:
    with pytest.raises(MqframeError, match=problem):
        await Brokers(a=said).known().content()


async def test_without_brokers_nobody_tells() -> None:
    with pytest.raises(GiveUpError, match="name servers know no broker"):
        await Brokers().known().content()


def test_the_file_holds_what_was_told_and_keeps_nothing() -> None:
    assert FILE == "access.json"
    assert BrokersFile(b"[1]").load(json.loads) == [1]
    assert BrokersFile(None).load(json.loads) is None
    with pytest.raises(OSError, match="those of brokers: change them there"):
        BrokersFile(b"").save(b"[2]")
