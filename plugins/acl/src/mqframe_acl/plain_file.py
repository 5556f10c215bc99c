"""The file `plain_acl.yml` of RocketMQ 4.9: accounts, what they may, and who need not say who they are."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import attrs
import yaml

from mqframe.core.clock import Clock
from mqframe.core.errors import SettingError
from mqframe.core.requests.needs import Action
from mqframe.log import get_logger
from mqframe_acl.networks import WhiteList, white_list
from mqframe_acl.signature import Signer

log = get_logger("access")

Perm = frozenset[Action]
NOTHING: Final[Perm] = frozenset()
_PERMS: Final[Mapping[str, Perm]] = {
    "": NOTHING,
    "DENY": NOTHING,
    "PUB": frozenset({Action.PUB}),
    "SUB": frozenset({Action.SUB}),
    "PUB|SUB": frozenset({Action.PUB, Action.SUB}),
    "SUB|PUB": frozenset({Action.PUB, Action.SUB}),
}
_KEY_CHARS_MIN: Final = 7
_BYTES_MAX: Final = 4 << 20
_WHITE: Final = "globalWhiteRemoteAddresses"
_KNOWN: Final = frozenset(
    (
        "accessKey secretKey whiteRemoteAddress admin defaultTopicPerm defaultGroupPerm topicPerms groupPerms"
    ).split()
)


@attrs.frozen
class Account:
    """One access key. `admin`: may do everything; `white`: from where it needs no signature."""

    key: str
    signer: Signer = attrs.field(repr=False, eq=False)
    admin: bool
    white: WhiteList
    default_topic: Perm
    default_group: Perm
    topics: Mapping[str, Perm]
    groups: Mapping[str, Perm]


@attrs.frozen
class Plain:
    """What the file says. `white`: from where nobody is asked anything."""

    accounts: Mapping[str, Account] = attrs.field(factory=dict)
    white: tuple[WhiteList, ...] = ()


class PlainFile:
    """The file at `path`, looked at every `seconds`; what is wrong with it leaves the former in force.

    Raises `SettingError` when it cannot be used at first.
    """

    def __init__(self, path: Path, clock: Clock, seconds: float) -> None:
        self._path, self._clock, self._seconds = path, clock, seconds
        self._stamp = self._stamp_now()
        self._current = self._read()
        self._next = clock.monotonic() + seconds

    @property
    def current(self) -> Plain:
        """What the file says, or said when it was right for the last time."""
        now = self._clock.monotonic()
        if now >= self._next:
            self._next = now + self._seconds
            self._look()
        return self._current

    def _look(self) -> None:
        try:
            stamp = self._stamp_now()
            if stamp == self._stamp:
                return
            self._stamp = stamp
            self._current = self._read()
        except SettingError as problem:
            log.error("accounts cannot be read; those from before stay in force", problem=str(problem))
        else:
            log.info("accounts read again", file=str(self._path), accounts=len(self._current.accounts))

    def _stamp_now(self) -> tuple[int, ...] | None:
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

    def _read(self) -> Plain:
        try:
            with self._path.open("rb") as file:
                raw = file.read(_BYTES_MAX + 1)
            if len(raw) > _BYTES_MAX:
                raise ValueError(f"it has more than {_BYTES_MAX} bytes")
            return plain_of(raw.decode())
        except OSError as problem:
            raise SettingError(f"{self._path} cannot be read: {problem.strerror}") from None
        except (ValueError, RecursionError) as problem:
            raise SettingError(f"{self._path}: {problem}") from None


def plain_of(text: str) -> Plain:
    """What `text` in YAML says. Raises ValueError that names the account, and no secret."""
    try:
        # Keys are texts even where they look like numbers.
        found = yaml.load(text, Loader=yaml.BaseLoader)
    except yaml.YAMLError as problem:
        mark = getattr(problem, "problem_mark", None)
        where = f" in line {mark.line + 1}" if mark else ""
        raise ValueError(f"it is no YAML{where}") from None
    if not isinstance(found, dict):
        raise ValueError("it is no table with accounts")
    white = tuple(white_list(_text(each, _WHITE)) for each in _list(found, _WHITE))
    accounts: dict[str, Account] = {}
    for number, table in enumerate(_list(found, "accounts"), 1):
        if not isinstance(table, dict):
            raise ValueError(f"account {number} is no table")
        try:
            account = _account(table)
        except ValueError as problem:
            raise ValueError(f"account {number}: {problem}") from None
        if account.key in accounts:
            raise ValueError(f"account {number}: accessKey {account.key} stands there twice")
        accounts[account.key] = account
    return Plain(accounts, white)


def _account(table: dict[Any, Any]) -> Account:
    if unknown := sorted(set(map(str, table)) - _KNOWN):
        raise ValueError(f"{unknown[0]} is none of {', '.join(sorted(_KNOWN))}")
    key, secret = (_text(table.get(name, ""), name).strip() for name in ("accessKey", "secretKey"))
    if min(len(key), len(secret)) < _KEY_CHARS_MIN:
        raise ValueError(f"accessKey and secretKey have {_KEY_CHARS_MIN} characters at least")
    admin = _text(table.get("admin", ""), "admin").lower()
    if admin not in ("", "true", "false"):
        raise ValueError("admin is neither true nor false")
    return Account(
        key,
        Signer(secret),
        admin == "true",
        white_list(_text(table.get("whiteRemoteAddress", ""), "whiteRemoteAddress")),
        _perm(_text(table.get("defaultTopicPerm", ""), "defaultTopicPerm")),
        _perm(_text(table.get("defaultGroupPerm", ""), "defaultGroupPerm")),
        dict(map(_rule, _list(table, "topicPerms"))),
        dict(map(_rule, _list(table, "groupPerms"))),
    )


def _list(table: dict[Any, Any], name: str) -> list[Any]:
    found = table.get(name) or []
    if not isinstance(found, list):
        raise ValueError(f"{name} is no list")
    return found


def _text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{name} is no text")
    return value


def _rule(value: object) -> tuple[str, Perm]:
    name, equals, perm = _text(value, "a permission").partition("=")
    if not equals or not name.strip():
        raise ValueError(f"permission {value!r} is not name=DENY, PUB, SUB or PUB|SUB")
    return name.strip(), _perm(perm)


def _perm(text: str) -> Perm:
    try:
        return _PERMS[text.strip().upper()]
    except KeyError:
        raise ValueError(f"permission {text!r} is none of DENY, PUB, SUB, PUB|SUB") from None
