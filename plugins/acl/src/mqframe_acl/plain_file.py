"""A file of accounts as `plain_acl.yml` of RocketMQ 4.9: what they may, and who need not say who they are."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import attrs
import yaml

from mqframe.core.requests.needs import Action
from mqframe_acl.networks import WhiteList, white_list
from mqframe_acl.signature import Signer

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
BYTES_MAX: Final = 4 << 20
WHITE: Final = "globalWhiteRemoteAddresses"
ACCOUNTS: Final = "accounts"
VERSION: Final = "dataVersion"
Table = dict[str, Any]
"""A file as it is written: all values are texts, lists and tables."""
_NUMBER: Final = re.compile(r"[-+.]?[0-9][\w.+-]*\Z", re.ASCII)
_KNOWN: Final = frozenset(
    (
        "accessKey secretKey whiteRemoteAddress admin defaultTopicPerm defaultGroupPerm topicPerms groupPerms"
    ).split()
)


_LOADER: Final = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
"""That of libyaml, where PyYAML has it, takes a tenth of the time."""
_FRAMING: Final = (yaml.StreamStartEvent, yaml.StreamEndEvent, yaml.DocumentStartEvent, yaml.DocumentEndEvent)
_LINE_ENDS: Final = re.compile("[\x85\u2028\u2029]")


_Base: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class _Dumper(_Base):  # type: ignore[misc]  # PyYAML has no types
    """Quotes every text that some reader of YAML may take for a number."""


def _written(dumper: _Dumper, text: str) -> yaml.Node:
    # Line ends of Unicode would be read as spaces, unless they are escaped.
    style = '"' if _LINE_ENDS.search(text) else "'" if _NUMBER.match(text) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style)


_Dumper.add_representer(str, _written)


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
    """What a file says. `white`: from where nobody is asked anything; `changes`: how often it was changed by
    requests, `changed_ms`: when for the last time."""

    accounts: Mapping[str, Account] = attrs.field(factory=dict)
    white: tuple[WhiteList, ...] = ()
    changes: int = 0
    changed_ms: int = 0


def table_of(text: str) -> Table:
    """The table that `text` in YAML holds; an empty one for no text at all. Raises ValueError."""
    if len(text) > BYTES_MAX:
        raise ValueError(f"it has more than {BYTES_MAX} characters")
    try:
        found = _read(yaml.parse(text, Loader=_LOADER))
    except yaml.YAMLError as problem:
        mark = getattr(problem, "problem_mark", None)
        where = f" in line {mark.line + 1}" if mark else ""
        raise ValueError(f"it is no YAML{where}") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except (KeyError, TypeError):
        raise ValueError("it is no YAML: an unknown alias, or a key that is no text") from None
    if not isinstance(found, dict):
        raise ValueError("it is no table with accounts")
    return found


def _read(events: Iterator[Any]) -> Any:
    """What the only document of a stream holds; an empty table where there is none.

    All scalars are texts: keys are, even where they look like numbers. Made without the nodes that PyYAML
    would make first, which cost most of the time. Raises KeyError for an unknown alias, TypeError for a
    list or a table as key, ValueError for a second document.
    """
    found: Any = {}
    for number, event in enumerate(each for each in events if not isinstance(each, _FRAMING)):
        if number:
            raise ValueError("it has more than one document")
        found = _value(event, events, {})
    return found


def _value(event: Any, events: Iterator[Any], anchors: dict[str, Any]) -> Any:
    found: Any
    if isinstance(event, yaml.AliasEvent):
        return anchors[event.anchor]
    if isinstance(event, yaml.ScalarEvent):
        found = event.value
    elif isinstance(event, yaml.SequenceStartEvent):
        found = []
        while not isinstance(each := next(events), yaml.SequenceEndEvent):
            found.append(_value(each, events, anchors))
    else:
        found = {}
        while not isinstance(each := next(events), yaml.MappingEndEvent):
            key = _value(each, events, anchors)
            found[key] = _value(next(events), events, anchors)
    if event.anchor:
        anchors[event.anchor] = found
    return found


def plain_of(table: Table) -> Plain:
    """What a file with this table says. Raises ValueError that names the account, and no secret."""
    white = tuple(white_list(_text(each, WHITE)) for each in list_of(table, WHITE))
    accounts: dict[str, Account] = {}
    for number, each in enumerate(list_of(table, ACCOUNTS), 1):
        if not isinstance(each, dict):
            raise ValueError(f"account {number} is no table")
        try:
            account = _account(each)
        except ValueError as problem:
            raise ValueError(f"account {number}: {problem}") from None
        if account.key in accounts:
            raise ValueError(f"account {number}: accessKey {account.key} stands there twice")
        accounts[account.key] = account
    return Plain(accounts, white, *_version(table))


def list_of(table: Table, name: str) -> list[Any]:
    """The list called `name`; an empty one where there is none. Raises ValueError."""
    found = table.get(name) or []
    if not isinstance(found, list):
        raise ValueError(f"{name} is no list")
    return found


def text_of(table: Table) -> str:
    """`table` as a file, laid out as RocketMQ's broker does. Raises ValueError for what cannot be written."""
    for account in list_of(table, ACCOUNTS):
        if "admin" in account:
            account["admin"] = account["admin"] in (True, "true")
    try:
        return str(
            yaml.dump(table, Dumper=_Dumper, default_flow_style=False, sort_keys=False, allow_unicode=True)
        )
    except (yaml.YAMLError, UnicodeError, RecursionError):
        raise ValueError("it holds what YAML cannot carry") from None


def _version(table: Table) -> tuple[int, int]:
    """How often, and when last, the file was changed. Raises ValueError."""
    first: Any = next(iter(list_of(table, VERSION)), {})
    try:
        return int(first.get("counter", 0)), int(first.get("timestamp", 0))
    except (AttributeError, TypeError, ValueError):
        raise ValueError(f"{VERSION} is no list of one table with counter and timestamp") from None


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
        dict(map(_rule, list_of(table, "topicPerms"))),
        dict(map(_rule, list_of(table, "groupPerms"))),
    )


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
