"""What a step of an election has decided so far: its actions, in their order."""

from __future__ import annotations

from typing import Any, Literal

from mqframe_election.rules import actions, events
from mqframe_election.rules.group import GroupView


class Outbox:
    """`moment`: when the step is made. `trouble`: why the group cannot be looked after, as was shown last."""

    moment: events.Moment

    def __init__(self) -> None:
        self.trouble = ""
        self._actions: list[actions.Action] = []

    def begin(self, moment: events.Moment) -> None:
        """A step begins."""
        self.moment, self._actions = moment, []

    def take(self) -> list[actions.Action]:
        """What the step has decided."""
        return self._actions

    def do(self, action: actions.Action) -> None:
        """Have `action` done after all before."""
        self._actions.append(action)

    def log(self, level: Literal["info", "warning", "error"], event: str, **values: Any) -> None:
        """Have `event` logged."""
        self.do(actions.Log(level, event, values))

    def unreadable(self, view: GroupView) -> None:
        """Have logged which brokers of `view` say what cannot be read."""
        for number, problem in view.unreadable.items():
            self.log(
                "warning", "a broker of the group says what cannot be read", broker=number, problem=problem
            )

    def show(self, trouble: str) -> None:
        """Have `trouble` shown each time that it is met, and once that there is none any more."""
        if trouble or self.trouble:
            self.do(actions.ShowTrouble(trouble))
        self.trouble = trouble
