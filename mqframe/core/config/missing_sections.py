"""Sections that a configuration may have here once somebody installs what brings them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from mqframe.core.config.layers import PREFIX, Layer, Rank
from mqframe.core.errors import SettingError

_KEYS: Final[Mapping[str, str]] = {"brokerRole": "replication"}
"""Keys of RocketMQ's that ask for another kind of server than there is without a section."""


def refuse_missing_sections(
    layers: Iterable[Layer], lines: Mapping[str, str], old_names: Collection[str] = ()
) -> None:
    """Raise `SettingError` for a value of a section in `lines`: by its name, what to type to have it.

    `old_names`: what was in such a section once, as "section.key", and is elsewhere now.
    """
    before = {name.replace(".", "_").upper() for name in old_names}
    for layer in layers:
        variables = layer.rank is Rank.ENVIRONMENT
        for given in layer.values:
            for section, line in lines.items():
                start = f"{section.upper()}_" if variables else f"{section}."
                moved = given.path in (before if variables else old_names)
                if (given.path.startswith(start) and not moved) or _KEYS.get(given.path) == section:
                    name = PREFIX + given.path if variables else given.path
                    raise SettingError(
                        f"{name} from {given.origin}: what has the section {section} is not installed;"
                        f" install it with: {line}"
                    )
