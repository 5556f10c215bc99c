"""Several brokers of one `mqframe server`, each in a process of its own."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from typing import Final

from mqframe.core.errors import FixError, GiveUpError, MqframeError, RetryError
from mqframe.net.clock import LoopClock
from mqframe_cli.commands import RETRY, WRONG
from mqframe_cli.processes.parent import FAILED, READY
from mqframe_cli.processes.places import BrokerSite
from mqframe_cli.processes.restarts import Next, RestartVerdict, ServerRestarts
from mqframe_cli.processes.supervisor import Supervisor, how_it_ended

STOP_SECONDS: Final = 50.0
"""How long a broker may take to stop before it is killed; below the minute that systemd is told to wait."""


class BrokerProgram:
    """The broker at `place`, started by `words`, as its supervisor sees it.

    `away_seconds`: how long it is away at least before it is started again.
    """

    kind = "broker"

    def __init__(self, place: BrokerSite, words: Sequence[str], away_seconds: float = 0.0) -> None:
        self.name = place.title
        self.address = self.metrics_address = ""
        self.problem: MqframeError | None = None
        self._words = words
        self._away_seconds = away_seconds
        self._said = ""
        self._restarts = ServerRestarts()
        self._serving = False
        self.ready = asyncio.Event()

    def command(self) -> Sequence[str]:
        """The words that start it."""
        self._serving, self._said = False, ""
        return self._words

    def heard(self, line: str) -> None:
        """It serves, at an address; or it could not start, and says why."""
        word, _, rest = line.partition(" ")
        if word == FAILED:
            self._said = rest
        elif word == READY:
            self.address, _, self.metrics_address = rest.strip().partition(" ")
            self._serving = True
            self._restarts.ready()
            self.ready.set()

    def ended(self, code: int, lived_seconds: float) -> RestartVerdict:
        """Serve again; unless it never did."""
        if not self.ready.is_set():
            self.problem = _problem(code)(f"{self.name}: {self._said or f'cannot start: {self.how(code)}'}")
        verdict = self._restarts.ended(code, lived_seconds)
        if verdict.next is Next.AGAIN:
            return RestartVerdict(verdict.next, max(verdict.seconds, self._away_seconds))
        return verdict

    def stopped(self, code: int) -> None:
        """It was to end. One that was ended before it opened anything ended well, however."""
        if code and self._serving:
            self.problem = GiveUpError(f"{self.name} did not stop in good order: {how_it_ended(code)}")

    def how(self, code: int) -> str:
        """In words, why it ended."""
        return self._said or how_it_ended(code)


class Brokers:
    """Brokers in processes of their own, started together; those that die are started again.

    `words`: what starts one, by its place; `away_seconds`: as of `BrokerProgram`.
    """

    def __init__(
        self, words: Mapping[BrokerSite, Sequence[str]], clock: LoopClock, away_seconds: float = 0.0
    ) -> None:
        self._programs = [BrokerProgram(place, each, away_seconds) for place, each in words.items()]
        self._supervisor = Supervisor(self._programs, clock, stop_seconds=STOP_SECONDS)
        self._running: asyncio.Task[int] | None = None

    @property
    def addresses(self) -> dict[str, str]:
        """Where each can be reached, by its name, and its metrics by "name.metrics", once started."""
        found: dict[str, str] = {}
        for program in self._programs:
            found[program.name] = program.address
            if program.metrics_address:
                found[f"{program.name}.metrics"] = program.metrics_address
        return found

    @property
    def processes(self) -> dict[str, int]:
        """The process ids of those that run, by name."""
        return self._supervisor.processes

    async def start(self) -> None:
        """Return when all serve. Raises what the first one said that could not start; then none runs."""
        self._running = asyncio.ensure_future(self._supervisor.run())
        ready = asyncio.ensure_future(self._all_ready())
        await asyncio.wait((ready, self._running), return_when=asyncio.FIRST_COMPLETED)
        ready.cancel()
        if self._running.done():
            await self.stop()

    async def _all_ready(self) -> None:
        for program in self._programs:
            await program.ready.wait()

    async def stop(self) -> None:
        """End all in good order. Raises `GiveUpError` when one did not."""
        if self._running is None:
            return
        self._supervisor.stop()
        await self._running
        problems = [program.problem for program in self._programs if program.problem is not None]
        if problems:
            raise problems[0]


def words_of(place: BrokerSite, nameservers: Sequence[str], more: Sequence[str]) -> list[str]:
    """The command that runs the broker at `place`; `more`: options as the user gave them."""
    operators = (
        () if place.operator_port is None else ("--set", f"broker.operator_port={place.operator_port}")
    )
    return [
        *(sys.executable, "-m", "mqframe", "broker", "--supervised", "--name", place.name),
        *("--port", str(place.port), "--nameserver", ";".join(nameservers), *more),
        *operators,
        *(word for path, value in place.exporting for word in ("--set", f"{path}={value}")),
        *("--set", f"store.directory={place.directory}"),
    ]


def _problem(code: int) -> type[MqframeError]:
    """The kind of error that `code` stands for."""
    return {WRONG: FixError, RETRY: RetryError}.get(code, GiveUpError)
