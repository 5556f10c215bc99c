"""`[users.NAME]`: a user with what it may do, on servers that check who asks."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from typing import ClassVar, Literal, cast

import msgspec
from mqframe_admin.access.bodies import AclInfo, UserInfo

from mqframe.core.errors import AnswerError, SettingError
from mqframe_definitions.kind import DefinitionKind

_SUBJECT = "User:"


Deed = Literal["All", "Pub", "Sub", "Create", "Update", "Delete", "Get", "List"]


class RuleSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What may be done, or may not, with a resource. `sources`: addresses and networks, none: all."""

    actions: list[Deed] = msgspec.field(default_factory=lambda: ["All"])
    allow: bool = True
    sources: list[str] = []


class UserSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A user.

    `everything`: it may do everything, whatever the rules say; `rules`: by resource, as "Topic:orders",
    "Topic:ord*", "Group:*", "Cluster:*" and "*"; `secret_variable`: the variable of the
    environment that holds the secret with which it is made. The file never holds a secret, and one of a user
    that is there stays as it is.
    """

    everything: bool = False
    enabled: bool = True
    rules: dict[str, RuleSpec] = {}
    secret_variable: str = ""


class Users(DefinitionKind[UserSpec]):
    """Users and their rules, which change together; every master has the same ones."""

    Spec: ClassVar[type[msgspec.Struct]] = UserSpec
    rank = 30
    only_new = frozenset(("secret_variable",))

    def current(self, names: Collection[str] | None) -> Mapping[str, Mapping[str, UserSpec | None]]:
        """Of each user what the first master has; nothing of a cluster that checks nobody."""
        if names is not None and not names:
            return {}
        try:
            found = self.admin.users.list()
            policies = {each.subject: each for each in self.admin.policies.list()}
        except AnswerError as refused:
            if names is None:
                return {}
            raise SettingError(f"[users]: the cluster has no users: {refused}") from refused
        return {
            str(user.username): {"": _spec_of(user, policies.get(f"{_SUBJECT}{user.username}"))}
            for user in found
            if names is None or user.username in names
        }

    def apply(self, name: str, wanted: UserSpec, *, new: bool) -> None:
        """Make or change a user, then its rules. Raises `SettingError` where there is no secret to make it
        with."""
        if new:
            secret = os.environ.get(wanted.secret_variable) if wanted.secret_variable else None
            if not secret:
                variable = wanted.secret_variable or "secret_variable, which the file does not name"
                raise SettingError(f"[users.{name}]: a new user needs a secret; there is none in {variable}")
            self.admin.users.create(name, secret, everything=wanted.everything)
            if not wanted.enabled:
                self.admin.users.update(name, enabled=False)
        else:
            self.admin.users.update(name, everything=wanted.everything, enabled=wanted.enabled)
            self._forget_rules(name, wanted)
        for resource, rule in wanted.rules.items():
            self.admin.policies.set(
                name, [resource], actions=rule.actions, allow=rule.allow, sources=rule.sources
            )

    def _forget_rules(self, name: str, wanted: UserSpec) -> None:
        for acl in self.admin.policies.list(name):
            if acl.subject == _SUBJECT + name:
                for resource in _rules_of(acl).keys() - wanted.rules.keys():
                    self.admin.policies.delete(name, resource)

    def delete(self, name: str) -> None:
        """Delete a user with its rules."""
        self.admin.users.delete(name)


def _spec_of(user: UserInfo, acl: AclInfo | None) -> UserSpec:
    rules = {} if acl is None else _rules_of(acl)
    return UserSpec(user.user_type == "Super", user.user_status != "disable", rules)


def _rules_of(acl: AclInfo) -> dict[str, RuleSpec]:
    return {
        entry.resource: RuleSpec(
            [cast("Deed", action) for action in entry.actions or ("All",)],
            entry.decision != "Deny",
            list(entry.source_ips or ()),
        )
        for policy in acl.policies or ()
        for entry in policy.entries or ()
    }
