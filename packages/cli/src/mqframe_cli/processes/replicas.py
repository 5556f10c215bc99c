"""An elected group of one `mqframe server`: brokers of one name, each in a process of its own."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import attrs

from mqframe.core.config.configuration import Resolved
from mqframe.core.errors import CallTimeout, FixError
from mqframe.hooks.known_distributions import KNOWN_DISTRIBUTIONS
from mqframe.hooks.names import install_line
from mqframe.log import get_logger
from mqframe.net.clock import LoopClock, within
from mqframe.store.files.layout import Layout
from mqframe_cli.processes.brokers import Brokers
from mqframe_cli.processes.places import PORT_STEP, BrokerSite, places
from mqframe_cli.settings.configuration import given_origins

log: Final = get_logger("cli")
GROUP_FILE: Final = "election.sqlite"
"""Beside the stores: who leads."""
LEADER_SECONDS_MAX: Final = 20.0
"""How long a start waits for a leader. One that was not stopped in order is elected within a lease."""
_LOOK_SECONDS: Final = 0.05
_LEASE_MS: Final = 3000
_TIMES: Final = {"election.lease_ms": _LEASE_MS, "election.renew_ms": 1000, "election.margin_ms": 500}
"""Shorter than between machines: all see one clock, and no network is between them."""
_AWAY_LEASES: Final = 2
"""Before one that died is started again: others lead by then, and are not held up by its return."""
_FIRST_WAIT_MS: Final = 2000
"""All start together, so one that has more of the log is soon there."""


def replica_places(
    count: int,
    settings_of: Callable[[str], Resolved],
    exporting: Callable[[int], Mapping[str, object]] = lambda number: {},
) -> list[BrokerSite]:
    """`count` brokers of one name, with the ports and stores that as many of different names have.

    Raises as `places`.
    """
    name = places(1, settings_of)[0].name
    found = places(count, settings_of, "--replicas", exporting)
    return [attrs.evolve(each, name=name, number=number) for number, each in enumerate(found, 1)]


def election_words(where: Sequence[BrokerSite], resolved: Resolved) -> list[str]:
    """Options that make the brokers at `where` a group; what `resolved` says of elections comes first."""
    given = given_origins(resolved)
    wanted: dict[str, object] = {"replication.role": "ELECTED"}
    if "election.coordination" not in given:
        wanted["election.coordination"] = "sqlite"
    if "sqlite" not in resolved.plugins():
        wanted["plugins.sqlite.file"] = where[0].directory.absolute().parent / GROUP_FILE
    if not _has_times(resolved):
        wanted |= _TIMES
    if "election.first_wait_ms" not in given:
        # Nobody has more than nothing.
        fresh = not any(_has_messages(place) for place in where)
        wanted["election.first_wait_ms"] = 0 if fresh else _FIRST_WAIT_MS
    return [word for path, value in wanted.items() for word in ("--set", f"{path}={value}")]


def _has_times(resolved: Resolved) -> bool:
    """Whether times of elections were given, which then count with the usual ones of the rest."""
    return not _TIMES.keys().isdisjoint(given_origins(resolved))


def away_seconds(resolved: Resolved) -> float:
    """How long a broker of the group that died is away at least, with the elections of `resolved`."""
    lease_ms = _value(resolved, "election.lease_ms") if _has_times(resolved) else _LEASE_MS
    return _AWAY_LEASES * lease_ms / 1000


def own_words(place: BrokerSite, resolved: Resolved) -> list[str]:
    """Options that differ from broker to broker of the group."""
    words = ["--set", f"replication.id={place.number}"]
    port = _value(resolved, "replication.port")
    if port:
        words += ["--set", f"replication.port={port + (place.number - 1) * PORT_STEP}"]
    return words


def _value(resolved: Resolved, path: str) -> Any:
    """What the setting at `path` is. Raises `FixError` where the plugin that it is of is not installed."""
    for entry in resolved.entries:
        if entry.path == path:
            return entry.value
    line = install_line(KNOWN_DISTRIBUTIONS["broker_role", "elected"])
    raise FixError(f"--replicas: what has brokers elect a leader is not installed; install it with: {line}")


def _has_messages(place: BrokerSite) -> bool:
    log = Layout(place.directory).commit_log
    return log.is_dir() and any(log.iterdir())


class ReplicaBrokers(Brokers):
    """The brokers of a group, made as `Brokers`.

    `leader`: the address of the one that leads as clients know it, or empty.
    """

    def __init__(
        self,
        words: Mapping[BrokerSite, Sequence[str]],
        clock: LoopClock,
        leader: Callable[[], str],
        away_seconds: float,
    ) -> None:
        super().__init__(words, clock, away_seconds)
        self._clock = clock
        self._leader = leader

    @property
    def addresses(self) -> dict[str, str]:
        """As of `Brokers`, and that of the one that leads, if there is one."""
        leader = self._leader()
        return super().addresses | ({"leader": leader} if leader else {})

    async def start(self) -> None:
        """Return when all serve and one leads, or somebody has to look why not. Raises as `Brokers`."""
        await super().start()
        with contextlib.suppress(CallTimeout):
            await within(self._clock, LEADER_SECONDS_MAX, self._until_led())
        if not self._leader():
            log.warning("no broker leads yet, no messages are taken; see: mqframe replica status")

    async def _until_led(self) -> None:
        while not self._leader():
            await self._clock.sleep(_LOOK_SECONDS)


def refuse_both(brokers: int, replicas: int) -> None:
    """Raise `FixError` when several brokers and several of one name are asked for."""
    if brokers > 1 and replicas > 1:
        raise FixError(
            f"--brokers {brokers} --replicas {replicas}: choose one. --brokers are several brokers that share"
            " the work, --replicas are copies of one; for both run `mqframe broker` for each copy"
        )
