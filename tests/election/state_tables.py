"""The state tables in docstrings of `elector` and `turns`, against what electors do."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import NamedTuple

from mqframe_election.rules import actions, elector, events, turns
from mqframe_election.rules.elector import Elector
from mqframe_election.rules.states import State, TurnState
from mqframe_election.rules.turns import Turns

COLUMNS = ("state", "event", "when", "next", "actions")
SAME = "the same"
WITHOUT_A_CALL = {"new", "waiting", "over"}


class Row(NamedTuple):
    """A line of a table; `event` is empty where it is the end of others."""

    state: str
    event: str
    when: str
    next: str
    actions: tuple[str, ...]


class Step(NamedTuple):
    """What an elector did: from which state to which one, upon what, by which actions."""

    state: str
    event: str
    next: str
    actions: tuple[str, ...]


def name(thing: object) -> str:
    """`LeaseGone` as tables write it: "lease gone"."""
    return re.sub(r"(?<=.)([A-Z])", r" \1", type(thing).__name__).lower().replace("show trouble", "trouble")


def rows(module: ModuleType) -> list[Row]:
    lines = (module.__doc__ or "").splitlines()
    head = next(each for each in lines if each.split() == list(COLUMNS))
    starts = [head.index(column) for column in COLUMNS]
    found = []
    for line in lines[lines.index(head) + 1 :]:
        if line.startswith("    "):
            cells = [line[a:b].strip() for a, b in zip(starts, [*starts[1:], None], strict=True)]
            for event in cells[1].split(", "):
                made = tuple(filter(None, cells[4].split(", ")))
                found.append(Row(cells[0], event, cells[2], cells[3], made))
    return found


OF_TURNS = {row.event for row in rows(turns)} - {"", "lost"}


class Table:
    """The table of a module whose states are `states`; `used`: rows by which something was explained."""

    def __init__(self, module: ModuleType, states: Iterable[State | TurnState]) -> None:
        self.rows = rows(module)
        self.states = [state.value for state in states]
        self.used: set[Row] = set()

    def rows_of(self, state: str, event: str) -> list[Row]:
        """Those of the state itself; where there are none, those of all states like it."""
        groups = [state]
        if state not in WITHOUT_A_CALL:
            groups.append("<call>")
        groups.append("<any>")
        for each in groups:
            found = [row for row in self.rows if row.state == each and self.is_of(row, event)]
            if found:
                return found
        return []

    def is_of(self, row: Row, event: str) -> bool:
        return row.event in (event, "<any>") or (row.event == "<of turns>" and event in OF_TURNS)

    def ways(self, row: Row, state: str) -> Iterator[tuple[list[Row], str, tuple[str, ...]]]:
        """Each way in which `row` may go on: its rows, the next state, the actions."""
        if not row.next.startswith("<"):
            yield [row], state if row.next == SAME else row.next, row.actions
            return
        ends = [each for each in self.rows if each.state == row.next and not each.event]
        assert ends, f"no row for {row.next}"
        for each in ends:
            for more, following, made in self.ways(each, state):
                yield [row, *more], following, row.actions + made

    def explains(self, step: Step) -> bool:
        """Whether a row says what `step` shows."""
        found = False
        for row in self.rows_of(step.state, step.event):
            for used, following, made in self.ways(row, step.state):
                if following == step.next and fits(step.actions, made):
                    self.used.update(used)
                    found = True
        return found

    @property
    def unused(self) -> list[Row]:
        return [row for row in self.rows if row not in self.used]


def fits(done: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    """Whether `done` is what `wanted` says: `x?` may be missing or come several times, `...` is anything."""
    pattern = "".join(
        ".*" if each == "..." else f"({each[:-1]};)*" if each.endswith("?") else f"{each};" for each in wanted
    )
    return re.fullmatch(pattern, "".join(f"{each};" for each in done)) is not None


class Checker:
    """Looks at each step of electors, and compares it with both tables."""

    def __init__(self) -> None:
        self.sessions = Table(elector, State)
        self.turns = Table(turns, TurnState)

    def on(self, of: Elector, event: events.Event, moment: events.Moment) -> list[actions.Action]:
        """As `Elector.on`."""
        state, before = of.state, of.turns
        turn = None if before is None else before.state
        decided = of.on(event, moment)
        made = tuple(name(action) for action in decided)
        self.check(self.sessions, Step(state.value, name(event), of.state.value, made))
        if state is State.TAKING_PART and turn is not None and before is not None:
            self.check_turn(before, turn.value, name(event), made)
        elif state is State.ENTERING and of.state is State.TAKING_PART and of.turns is not None:
            self.check_turn(of.turns, "new", name(event), made)
        return decided

    def check_turn(self, of: Turns, state: str, event: str, made: tuple[str, ...]) -> None:
        """What the turn did, without what its session adds to it."""
        if event in ("resigned", "lease gone"):
            made = made[1:] if event == "resigned" else made
            event = "lost"
        if event not in {row.event for row in self.turns.rows}:
            return
        if event == "due" and made[:1] == ("renew",):
            made = made[1:]
        following = of.state.value
        if "end calls" in made:
            made, following = made[: made.index("end calls") - 1], "over"
        self.check(self.turns, Step(state, event, following, made))

    def check(self, table: Table, step: Step) -> None:
        assert table.explains(step), f"no row of the table says {step}"
