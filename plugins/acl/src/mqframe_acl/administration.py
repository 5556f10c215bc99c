"""Requests of operators for users and policies (source: AdminBrokerProcessor.java)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from mqframe_admin.access.bodies import AclInfo, UserInfo
from mqframe_admin.access.requests import (
    AuthCreateAcl,
    AuthCreateUser,
    AuthDeleteAcl,
    AuthDeleteUser,
    AuthGetAcl,
    AuthGetUser,
    AuthListAcl,
    AuthListUser,
    AuthUpdateAcl,
    AuthUpdateUser,
)

from mqframe.core.errors import Refusal
from mqframe.core.requests.serving import Call
from mqframe.core.wire import loose_json
from mqframe.hooks.interfaces import Refused, Reply, ResponseCode, serves
from mqframe_acl.policies import Policies, pattern_of, policies_of, type_of
from mqframe_acl.table import SUBJECT, User, UserTable, bad_name

_TYPES: Final = {"super": True, "normal": False}
_STATUSES: Final = {"enable": True, "disable": False}


class Administration:
    """Makes, changes and shows users and their policies."""

    def __init__(self, table: UserTable) -> None:
        self._table = table
        self._all_acls = -1, b""

    @serves(AuthCreateUser)
    def create_user(self, fields: AuthCreateUser, call: Call) -> Reply:
        """Make a user, who is normal and enabled unless it is said otherwise."""
        info = call.body(UserInfo)
        if problem := bad_name(fields.username):
            raise Refusal(ResponseCode.INVALID_PARAMETER, problem)
        if fields.username in self._table.users:
            raise _wrong(f"there is a user {fields.username} already")
        if not (info.password or "").strip():
            raise _wrong("the password is blank")
        user = self._changed(User(fields.username, ""), info)
        if user.everything:
            self._check_super(call)
        return _done(lambda: self._table.put(user))

    @serves(AuthUpdateUser)
    def update_user(self, fields: AuthUpdateUser, call: Call) -> Reply:
        """Change secret, type or status; what is not said stays."""
        old = self._existing(fields.username)
        user = self._changed(old, call.body(UserInfo))
        if old.everything or user.everything:
            self._check_super(call)
        return _done(lambda: self._table.put(user))

    @serves(AuthDeleteUser)
    def delete_user(self, fields: AuthDeleteUser, call: Call) -> Reply:
        """Delete a user with all policies; one that is not there is deleted already."""
        user = self._table.users.get(fields.username)
        if user is not None and user.everything:
            self._check_super(call)
        return _done(lambda: self._table.remove(fields.username))

    @serves(AuthGetUser)
    def get_user(self, fields: AuthGetUser, call: Call) -> Reply:
        """One user; the secret only for one who may do everything."""
        user = self._table.users.get(fields.username)
        if user is None:
            return Reply()
        return Reply(body=loose_json.dumps(user.shown(secret=self._is_super(call))))

    @serves(AuthListUser)
    def list_users(self, fields: AuthListUser, call: Call) -> Reply:
        """Users by name."""
        secret = self._is_super(call)
        users = self._table.users
        found = [users[name].shown(secret=secret) for name in sorted(users) if (fields.filter or "") in name]
        return Reply(body=loose_json.dumps(found)) if found else Reply()

    @serves(AuthCreateAcl, AuthUpdateAcl)
    def put_acl(self, fields: AuthCreateAcl | AuthUpdateAcl, call: Call) -> Reply:
        """Give policies to a user."""
        info = call.body(AclInfo)
        name = self._subject(info.subject or fields.subject)
        old = self._table.policies.get(name, Policies())
        try:
            policies = policies_of(info, old)
        except ValueError as problem:
            raise _wrong(str(problem)) from None
        return _done(lambda: self._table.set_policies(name, policies))

    @serves(AuthDeleteAcl)
    def delete_acl(self, fields: AuthDeleteAcl, call: Call) -> Reply:
        """Take the entries for one resource, or all, from a user."""
        name = self._subject(fields.subject)
        policies = self._table.policies.get(name)
        if policies is None:
            raise _wrong(f"{fields.subject} has no policies")
        left = Policies()
        if fields.resource:
            try:
                left = policies.without(type_of(fields.policy_type), pattern_of(fields.resource))
            except ValueError as problem:
                raise _wrong(str(problem)) from None
        return _done(lambda: self._table.set_policies(name, left))

    @serves(AuthGetAcl)
    def get_acl(self, fields: AuthGetAcl, call: Call) -> Reply:
        """The policies of one user."""
        name = self._subject(fields.subject)
        policies = self._table.policies.get(name)
        if policies is None:
            return Reply()
        return Reply(body=loose_json.dumps(AclInfo(policies.shown(), SUBJECT + name)))

    @serves(AuthListAcl)
    def list_acls(self, fields: AuthListAcl, call: Call) -> Reply:
        """Policies by user, the entries that the filter leaves."""
        wanted, resource = fields.subject_filter or "", fields.resource_filter or ""
        if wanted or resource:
            return Reply(body=self._listed(wanted, resource))
        # Doors in processes of their own ask for all of them again and again.
        changes, body = self._all_acls
        if changes != self._table.changes:
            body = self._listed("", "")
            self._all_acls = self._table.changes, body
        return Reply(body=body)

    def _listed(self, wanted: str, resource: str) -> bytes:
        found = []
        for name, policies in sorted(self._table.policies.items()):
            shown = policies.shown(resource) if wanted in SUBJECT + name else []
            if shown:
                found.append(AclInfo(shown, SUBJECT + name))
        return loose_json.dumps(found) if found else b""

    def _changed(self, user: User, info: UserInfo) -> User:
        everything, enabled = user.everything, user.enabled
        if info.user_type:
            everything = _word(_TYPES, "user type", info.user_type)
        if info.user_status:
            enabled = _word(_STATUSES, "user status", info.user_status)
        return User(user.name, (info.password or "").strip() or user.secret, everything, enabled)

    def _existing(self, name: str) -> User:
        user = self._table.users.get(name)
        if user is None:
            raise _wrong(f"there is no user {name}")
        return user

    def _subject(self, subject: str) -> str:
        kind, _, name = subject.partition(":")
        if f"{kind}:" != SUBJECT:
            raise _wrong(f"subject {subject!r} is not User: and a name")
        return self._existing(name).name

    def _is_super(self, call: Call) -> bool:
        user = self._table.users.get(call.user)
        return user is not None and user.everything

    def _check_super(self, call: Call) -> None:
        if not self._is_super(call):
            said = "a user who may do everything is made and changed by such a user alone"
            raise Refused(said, f"{call.user}: {said}")


def _word(words: dict[str, bool], what: str, text: str) -> bool:
    try:
        return words[text.lower()]
    except KeyError:
        raise _wrong(f"{what} {text!r} is none of {', '.join(words)}") from None


def _wrong(said: str) -> Refusal:
    # Apache RocketMQ answers every fault of these requests with this code.
    return Refusal(ResponseCode.NO_PERMISSION, said)


def _done(change: Callable[[], None]) -> Reply:
    """The answer when `change` is made and kept."""
    try:
        change()
    except ValueError as problem:
        raise _wrong(str(problem)) from None
    except OSError as problem:
        raise Refusal(
            ResponseCode.SYSTEM_ERROR, f"nothing was changed, it cannot be kept: {problem}"
        ) from problem
    return Reply()
