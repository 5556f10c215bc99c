"""Parts of clients that other distributions bring, imported when a client first needs them: its requests.

One is named by an entry point of the group `mqframe.client_parts`, which leads to its class.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint
from typing import Any, Final, TypeVar

from mqframe.core.errors import FixError
from mqframe.hooks.installed import by_name, entry_points
from mqframe.hooks.known_distributions import KNOWN_CLIENT_PARTS
from mqframe.hooks.names import install_line

GROUP: Final = "mqframe.client_parts"
T = TypeVar("T")


@cache
def offered_parts() -> dict[str, EntryPoint]:
    """What is installed, by name."""
    return by_name(entry_points(group=GROUP))


def part_or(name: str, usual: T) -> T:
    """The part called `name`, or `usual`, of the same kind, where no distribution brings one."""
    offer = offered_parts().get(name)
    return usual if offer is None else offer.load()


def load_part(name: str) -> Any:
    """The class of the part called `name`. Raises `FixError`, which says what to install, where it is not."""
    offer = offered_parts().get(name)
    if offer is not None:
        return offer.load()
    distribution = KNOWN_CLIENT_PARTS[name]
    line = install_line(distribution)
    raise FixError(f"{name} need {distribution}, which is not installed; install it with: {line}")
