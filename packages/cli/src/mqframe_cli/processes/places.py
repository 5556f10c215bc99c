"""Where several brokers of one server are: names, ports, stores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from string import ascii_lowercase
from typing import Final

import attrs

from mqframe.broker.settings import BrokerSettings
from mqframe.core.config.configuration import Resolved, same_profile
from mqframe.core.errors import SettingError
from mqframe.log import get_logger
from mqframe.store.settings import StoreSettings

log: Final = get_logger("cli")
PORT_STEP: Final = 10
"""Between the ports of two brokers: each takes port - 2 as well, and Apache's port + 1."""


@attrs.frozen
class BrokerSite:
    """Where one of several brokers is. `port`: 0 for any that is free; `directory`: of its store.

    `operator_port`: `None` where operators have no port of theirs. `number`: which one it is of an elected
    group, 0 outside of such. `exporting`: settings of exporters there, by path.
    """

    name: str
    port: int
    directory: Path
    operator_port: int | None = None
    number: int = 0
    exporting: tuple[tuple[str, object], ...] = ()

    @property
    def title(self) -> str:
        """What tells it from the others."""
        return f"{self.name}.{self.number}" if self.number else self.name


def places(
    count: int,
    settings_of: Callable[[str], Resolved],
    option: str = "--brokers",
    exporting: Callable[[int], Mapping[str, object]] = lambda number: {},
) -> list[BrokerSite]:
    """`count` brokers, the first with the name, the port and the store that it has when it is the only one.

    So one broker can become several, and keeps what it has. Of the others the name and the store's folder end
    with -b, -c …, and the ports are `PORT_STEP` apart; unless their profiles say otherwise. `settings_of`:
    the settings with the profile of that name; `option`: what asked for so many; `exporting`: by path,
    settings of exporters in the process of the broker of that number. Raises `SettingError` when there are
    not so many ports.
    """
    base = settings_of("")
    name, port = base.section(BrokerSettings).name, base.section(BrokerSettings).port
    last = port + (count - 1) * PORT_STEP
    if port and last > 65535:
        raise SettingError(f"{option} {count} from port {port} on would need port {last}; the last is 65535")
    try:
        shown = [tuple(exporting(number).items()) for number in range(count)]
    except SettingError as problem:
        raise SettingError(f"{option} {count} {problem}") from None
    stem = name.removesuffix("-a")
    names = [f"{stem}-{letter}" if number else name for number, letter in enumerate(ascii_lowercase[:count])]
    found = [_place(each, number, base, settings_of(each)) for number, each in enumerate(names)]
    return [attrs.evolve(place, exporting=each) for place, each in zip(found, shown, strict=True)]


def _place(name: str, number: int, base: Resolved, resolved: Resolved) -> BrokerSite:
    """Where the broker `number` is; what its profile does not say is that of the first, further on."""
    first, own = base.section(BrokerSettings), resolved.section(BrokerSettings)
    directory = resolved.section(StoreSettings).directory
    if number and directory == base.section(StoreSettings).directory:
        directory = _beside(directory, ascii_lowercase[number])

    def further(port: int | None, port_of_first: int | None) -> int | None:
        return port + number * PORT_STEP if port and port == port_of_first else port

    return BrokerSite(
        name,
        further(own.port, first.port) or 0,
        directory,
        further(own.operator_port, first.operator_port),
    )


def warn_of_unserved(where: Sequence[BrokerSite], resolved: Resolved) -> None:
    """Warn of stores that earlier starts with more brokers have left, and of settings for such brokers."""
    first = where[0].directory
    for letter in ascii_lowercase[len(where) :]:
        if (left := _beside(first, letter)).is_dir():
            log.warning("messages of a broker that is not started", directory=str(left))
    for profile in resolved.profiles:
        if not any(same_profile(place.name, profile.partition(".")[2]) for place in where):
            log.warning("settings of a broker that is not started", section=profile)


def _beside(directory: Path, letter: str) -> Path:
    return directory.with_name(f"{directory.name}-{letter}")
