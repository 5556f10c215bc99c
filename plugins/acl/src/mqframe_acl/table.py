"""The table of users and their policies, kept in `config/access.json`."""

from __future__ import annotations

from typing import Final

import attrs
from mqframe_admin.access.bodies import AclInfo, UserInfo

from mqframe.core.wire import loose_json
from mqframe.core.wire.bodies import Body
from mqframe.hooks.interfaces import AccessPort
from mqframe_acl.policies import Policies, policies_of
from mqframe_acl.signature import Signer

FILE: Final = "access.json"
USERS_MAX: Final = 10_000
NAME_CHARS_MAX: Final = 255
SUBJECT: Final = "User:"


class _Kept(Body):
    acls: list[AclInfo] = []
    users: list[UserInfo] = []


@attrs.frozen
class User:
    """Somebody who signs requests. `everything`: may do everything, whatever the policies say."""

    name: str
    secret: str = attrs.field(repr=False)
    everything: bool = False
    enabled: bool = True
    signer: Signer = attrs.field(init=False, repr=False, eq=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "signer", Signer(self.secret))

    def shown(self, *, secret: bool) -> UserInfo:
        """As bodies carry it."""
        return UserInfo(
            self.secret if secret else None,
            "enable" if self.enabled else "disable",
            "Super" if self.everything else "Normal",
            self.name,
        )


class UserTable:
    """Users and policies of one process. A change is on disk before it counts.

    `changes` grows with every change. Raises `StoreError` for a file that cannot be read.
    """

    def __init__(self, port: AccessPort) -> None:
        self._file = port.file(FILE)
        self._first = {each.user: User(each.user, each.secret, everything=True) for each in port.initial}
        self.users = dict(self._first)
        self.policies: dict[str, Policies] = {}
        self.changes = 0
        kept = None if self._file is None else self._file.load(_read)
        if kept is not None:
            self.users |= kept[0]
            self.policies = kept[1]

    def put(self, user: User) -> None:
        """Enter or replace a user. Raises `OSError` when that cannot be kept, ValueError for no room."""
        if user.name not in self.users and len(self.users) >= USERS_MAX:
            raise ValueError(f"there are {USERS_MAX} users already")
        self._keep(self.users | {user.name: user}, self.policies)

    def remove(self, name: str) -> None:
        """Remove a user with all policies. Raises `OSError`."""
        self._keep(
            {key: user for key, user in self.users.items() if key != name},
            {key: policies for key, policies in self.policies.items() if key != name},
        )

    def set_policies(self, name: str, policies: Policies) -> None:
        """Give a user these policies in the place of those before. Raises `OSError`."""
        rest = {key: each for key, each in self.policies.items() if key != name}
        self._keep(self.users, rest | ({name: policies} if policies.by_type else {}))

    def _keep(self, users: dict[str, User], policies: dict[str, Policies]) -> None:
        if self._file is not None:
            acls = [AclInfo(each.shown(), SUBJECT + name) for name, each in policies.items()]
            # Those of the configuration stay there, where they can be changed.
            changed = [user for user in users.values() if user != self._first.get(user.name)]
            kept = _Kept(acls, [user.shown(secret=True) for user in changed])
            self._file.save(loose_json.dumps(kept))
        self.users, self.policies = users, policies
        self.changes += 1


def bad_name(name: str) -> str | None:
    """What is wrong with the name of a user."""
    if not name.strip():
        return "the name of the user is blank"
    if len(name) > NAME_CHARS_MAX or not name.isprintable():
        return f"the name of a user has at most {NAME_CHARS_MAX} characters, none of which controls anything"
    return None


def _read(raw: bytes) -> tuple[dict[str, User], dict[str, Policies]]:
    """What a file holds. Raises `BodyError`, or ValueError for policies that are none."""
    kept = loose_json.decode(raw, _Kept)
    users = {user.name: user for user in map(_user, kept.users)}
    return users, {_name(acl): policies_of(acl, Policies()) for acl in kept.acls if acl.policies}


def _name(acl: AclInfo) -> str:
    return (acl.subject or "").removeprefix(SUBJECT)


def _user(info: UserInfo) -> User:
    return User(
        info.username or "", info.password or "", info.user_type == "Super", info.user_status != "disable"
    )
