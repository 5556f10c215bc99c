"""Users as definitions, on a server that keeps them in memory."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from mqframe_admin.access.bodies import AclInfo, PolicyEntryInfo, PolicyInfo, UserInfo
from mqframe_definitions.kinds.users import RuleSpec, Users, UserSpec

from mqframe.core.errors import AnswerError, SettingError


class UsersOnPaper:
    """What `Admin.users` and `Admin.policies` do, without a server."""

    def __init__(self) -> None:
        self.made: dict[str, UserInfo] = {}
        self.rules: dict[str, dict[str, PolicyEntryInfo]] = {}

    def create(self, name: str, secret: str, *, everything: bool) -> None:
        self.made[name] = UserInfo(secret, "enable", "Super" if everything else "Normal", name)

    def update(self, name: str, *, everything: bool | None = None, enabled: bool | None = None) -> None:
        old = self.made[name]
        kind = old.user_type if everything is None else "Super" if everything else "Normal"
        status = old.user_status if enabled is None else "enable" if enabled else "disable"
        self.made[name] = UserInfo(old.password, status, kind, name)

    def delete(self, name: str) -> None:
        del self.made[name]
        self.rules.pop(name, None)

    def list(self) -> list[UserInfo]:
        return list(self.made.values())


class PoliciesOnPaper:
    def __init__(self, users: UsersOnPaper) -> None:
        self._rules = users.rules

    def set(self, user: str, resources: list[str], *, actions: Any, allow: bool, sources: Any) -> None:
        for each in resources:
            entry = PolicyEntryInfo(each, list(actions), "Allow" if allow else "Deny", list(sources) or None)
            self._rules.setdefault(user, {})[each] = entry

    def delete(self, user: str, resource: str) -> None:
        del self._rules[user][resource]

    def list(self, user: str = "") -> list[AclInfo]:
        return [
            AclInfo([PolicyInfo(list(rules.values()), "Custom")], f"User:{name}")
            for name, rules in self._rules.items()
            if name.startswith(user)
        ]


@pytest.fixture
def cluster() -> UsersOnPaper:
    return UsersOnPaper()


@pytest.fixture
def users(cluster: UsersOnPaper, monkeypatch: pytest.MonkeyPatch) -> Users:
    monkeypatch.setenv("SHOP_SECRET", "not-shown")
    admin: Any = SimpleNamespace(users=cluster, policies=PoliciesOnPaper(cluster))
    return Users(admin)


RULES = {"Topic:orders": RuleSpec(["Pub", "Sub"]), "Group:*": RuleSpec(["All"], False, ["10.0.0.0/8"])}


def test_a_user_is_read_as_it_was_made(users: Users, cluster: UsersOnPaper) -> None:
    wanted = UserSpec(enabled=False, rules=RULES, secret_variable="SHOP_SECRET")
    users.apply("shop", wanted, new=True)
    assert cluster.made["shop"].password == "not-shown"
    assert users.current(["shop"]) == {"shop": {"": UserSpec(enabled=False, rules=RULES)}}
    assert users.current([]) == {}
    users.delete("shop")
    assert users.current(None) == {}


def test_rules_that_are_stated_no_more_go_and_others_stay_as_they_are(
    users: Users, cluster: UsersOnPaper
) -> None:
    users.apply("shop", UserSpec(rules=RULES, secret_variable="SHOP_SECRET"), new=True)
    users.apply("shop-two", UserSpec(rules=RULES, secret_variable="SHOP_SECRET"), new=True)
    fewer = UserSpec(everything=True, rules={"Topic:orders": RuleSpec(["Sub"])})
    users.apply("shop", fewer, new=False)
    assert users.current(None) == {"shop": {"": fewer}, "shop-two": {"": UserSpec(rules=RULES)}}
    assert cluster.made["shop"].password == "not-shown"


@pytest.mark.parametrize(
    ("variable", "said"),
    [("", "secret_variable, which the file does not name"), ("NO_SUCH", "there is none in NO_SUCH")],
)
def test_nobody_is_made_without_a_secret(
    users: Users, cluster: UsersOnPaper, variable: str, said: str
) -> None:
    with pytest.raises(SettingError, match=said):
        users.apply("shop", UserSpec(secret_variable=variable), new=True)
    assert cluster.made == {}


def test_a_cluster_that_checks_nobody_has_no_users(users: Users, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: UsersOnPaper) -> list[UserInfo]:
        raise AnswerError(3, "request code 3005 is not supported", "127.0.0.1:1")

    monkeypatch.setattr(UsersOnPaper, "list", refuse)
    assert users.current(None) == {}
    with pytest.raises(SettingError, match="the cluster has no users"):
        users.current(["shop"])
