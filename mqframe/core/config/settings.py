"""Typed settings: small attrs classes whose fields say what they mean and check what they get.

    @settings("store")
    class StoreSettings:
        "Where messages are kept."
        commit_log_file_bytes: int = setting(
            1 << 30, doc="size of a file, bytes", check=at_least(1024), conf="mappedFileSizeCommitLog"
        )

`conf` names the key of a RocketMQ `broker.conf` that means the same. Values may come as text (environment,
command line, `broker.conf`): `mqframe.core.config.field_types.convert` turns text into the field's type.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar, dataclass_transform

import attrs

from mqframe.core.errors import SettingError

C = TypeVar("C", bound=type[Any])
Check = Callable[[Any], str | None]
"""Gives `None` for a good value, else what is wrong with it."""
SECRET: Final = "(secret)"
"""What is shown in place of a secret."""


@dataclass_transform(kw_only_default=True, frozen_default=True)
def settings(section: str, *, kw_only: bool = True) -> Callable[[C], C]:
    """Class decorator: a frozen attrs class of the settings of `section`, keyword-only by default."""

    def make(cls: C) -> C:
        made = attrs.frozen(kw_only=kw_only)(cls)
        made.SECTION = section
        return made

    return make


def setting(
    default: Any = attrs.NOTHING,
    *,
    doc: str,
    check: Check | None = None,
    conf: str | None = None,
    from_conf: Callable[[str], Any] | None = None,
    factory: Callable[[], Any] | None = None,
    secret: bool = False,
    live: bool = False,
    plugin: str = "",
    was: str | tuple[str, ...] = (),
) -> Any:
    """One field of a settings class. `doc` states meaning and unit; `check` refuses bad values.

    `from_conf` turns the text of the `broker.conf` key, or of a plugin's option, into the field's value where
    the two are written differently; it raises ValueError for text that means nothing. `secret`: the value
    shows nowhere. `live`: the value can be changed while the program runs; no secret is, for changes are kept
    as they are. `plugin`: the kind of the plugins that the value names. `was`: "section.key" of before, or
    several, which go on working.
    """
    if secret and live:
        raise ValueError("a secret cannot be live: what is changed is kept in a file as it is")

    def validate(instance: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
        problem = check(value) if check else None
        if problem:
            raise SettingError(f"{instance.SECTION}.{attribute.name} = {shown(value, secret)}: {problem}")

    metadata = {
        "doc": doc,
        "check": check,
        "conf": conf,
        "from_conf": from_conf,
        "secret": secret,
        "live": live,
        "plugin": plugin,
        "was": (was,) if isinstance(was, str) else was,
    }
    if factory is not None:
        return attrs.field(factory=factory, validator=validate, metadata=metadata, repr=not secret)
    return attrs.field(default=default, validator=validate, metadata=metadata, repr=not secret)


def told(field: attrs.Attribute[Any], value: Any) -> Any:
    """`value` as programs may write it down: of a secret only that it is there."""
    return SECRET if field.metadata.get("secret") and value else value


def shown(value: object, secret: bool) -> str:
    """`value` for people to read; of a secret only that it is there."""
    return SECRET if secret else repr(value)


def at_least(low: float) -> Check:
    """A number not below `low`."""
    return lambda value: None if value >= low else f"must be at least {low}"


def within(low: float, high: float) -> Check:
    """A number from `low` to `high`, both included."""
    return lambda value: None if low <= value <= high else f"must be within {low} and {high}"


def encodable(value: str) -> str | None:
    """Text that UTF-8 can carry."""
    try:
        value.encode()
    except UnicodeEncodeError as problem:
        return f"cannot be encoded: {problem}"
    return None


def one_of(*choices: Any) -> Check:
    """One of `choices`."""
    return lambda value: None if value in choices else f"must be one of {', '.join(map(str, choices))}"
