"""Names in a configuration that nothing here has."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from mqframe.core.config.layers import PREFIX
from mqframe.core.config.suggestions import did_you_mean
from mqframe.core.errors import SettingError


class UnknownName(SettingError):
    """What somebody gives a value is nothing that is known here."""


def unknown_name(name: str, origin: str, known: Collection[str], what: str) -> UnknownName:
    """The error for `name`, which is none of `known`; `what`: "setting", "section" and the like."""
    wanted = name.partition(".")[0] if what == "section" else name
    return UnknownName(f"{name} from {origin} is no {what} that is known here{hint(wanted, known)}")


def refuse_absent(name: str, origin: str, absent: Mapping[str, str]) -> None:
    """Raise the error for `name`, a path or a variable, where its section is that of what is not installed.

    `absent`: why there is no such section, and what to do, by the names of sections.
    """
    for section, why in absent.items():
        if name.lower().startswith((f"{section}.", f"{PREFIX}{section}_".lower())):
            raise UnknownName(f"{name} from {origin}: {why}")


def hint(wanted: str, known: Collection[str]) -> str:
    """What was probably meant, as the end of a message; else what is known, unless that is long."""
    meant = did_you_mean(wanted, known)
    if meant:
        return f"; {meant}"
    return f"; known: {', '.join(sorted(known)) or 'none'}" if len(known) <= 40 else ""
