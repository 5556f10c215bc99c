"""Elections as text: a line for each event, and behind the arrow what broker 1 of the group b does then.

Their stories are in turns.txt and elector.txt.

Events stand as in `mqframe_election.rules.events`, with what they carry. A view of the engine is written as
the version of the state, its epoch with the leader of that, the set, who is to lead next (`next=2`), who
leads (`1/w1`: by the claim w1 of this broker), and who is there, with the end of its log:
`v4 e1/2 set=1,2 leader=2 1@700 2@900`. Behind such an end: `!` it may follow somebody still, `~` it may lack
what it acknowledged, `x` it cannot store.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import count
from math import inf, isclose
from pathlib import Path
from typing import NamedTuple

from attrs import evolve
from election.state_tables import Checker
from mqframe_election.rules import actions, events
from mqframe_election.rules.elector import Elector
from mqframe_election.rules.group import GroupState, GroupView, LeaderNote, ReplicaNote
from mqframe_election.rules.limits import ElectionLimits
from mqframe_election.rules.states import State, TurnState
from mqframe_election.rules.sync_set import SetLimits, SyncSet
from msgspec.structs import replace

LIMITS = ElectionLimits(lease=5, renew=1.5, margin=1, patience=1, first=5, members_min=1)
PLAIN: dict[str, events.Event] = {
    "started": events.Started(), "done": events.Done(), "declined": events.Declined(),
    "renewed": events.Renewed(), "lease gone": events.LeaseGone(), "reported": events.Reported(),
    "group changed": events.GroupChanged(), "watch lost": events.WatchLost(), "rang": events.Rang(),
    "stopped": events.Stopped(),
}  # fmt: skip
WITH_PROBLEM: dict[str, Callable[[str], events.Event]] = {
    "unanswered": events.Unanswered, "failed": events.Failed, "not renewed": events.NotRenewed,
    "resigned": events.Resigned,
}  # fmt: skip


def note(number: int, end: int, *, ready: int = 0, is_clean: bool = True, unable: str = "") -> ReplicaNote:
    return ReplicaNote(
        number, 0, end, 0, ready, is_clean, f"store {number}", f"h:{number}", f"h:1{number}", unable
    )


class Traced:
    """The broker 1, to which each line of a trace happens."""

    def __init__(self, checker: Checker, limits: ElectionLimits = LIMITS) -> None:
        words = (f"w{number}" for number in count(1))
        self.checker = checker
        self.limits = limits
        self.elector = Elector(1, "b", limits, words.__next__)
        self.mine = note(1, 0)
        self.unable = ""
        self.now = 0.0
        self.members: SyncSet | None = None

    def line(self, left: str) -> str:
        """What is done upon `left`, `t=<seconds> <event>`."""
        found = re.fullmatch(r"t=(\S+) +(.+)", left)
        assert found is not None, left
        self.now = float(found[1])
        event = self.event(found[2])
        if event is None:
            return ""
        moment = events.Moment(self.now, self.mine, self.unable)
        return self.text(self.checker.on(self.elector, event, moment))

    def event(self, text: str) -> events.Event | None:
        """`None`: nothing that the elector is told of."""
        name, _, more = text.partition(": ")
        if text in PLAIN:
            return PLAIN[text]
        if name in WITH_PROBLEM:
            return WITH_PROBLEM[name](more)
        kind, _, rest = text.partition(" ")
        if kind in ("saw", "looked"):
            view = self.view(rest)
            return events.Saw(view) if kind == "saw" else events.Looked(view)
        if text == "due":
            assert isclose(self.elector.due, self.now), f"due at {self.elector.due}"
            return events.Due(self.elector.due)
        if kind == "opened":
            return events.Opened(float(rest.removesuffix(" s")))
        if found := re.fullmatch(r"hand over to (\d+|any) within (\S+) s", text):
            return events.HandOver(0 if found[1] == "any" else int(found[1]), float(found[2]))
        if kind == "accepted":
            return events.Accepted(int(rest.removeprefix("v")))
        if text == "led":
            term = self.elector.term
            assert term is not None
            limits = SetLimits(self.limits.members_min, lag_seconds=5, away_seconds=1)
            self.members = SyncSet(term.state, term.version, self.mine.end, limits, self.now)
            return events.Led(self.members)
        self.beside(text)
        return None

    def beside(self, text: str) -> None:
        """What becomes of the broker itself, in brackets."""
        if found := re.fullmatch(r"\(log up to (\d+)\)", text):
            self.mine = replace(self.mine, end=int(found[1]))
        elif text == "(all confirmed)":
            self.mine = replace(self.mine, confirmed=self.mine.end)
        elif found := re.fullmatch(r"\(disk: (.*)\)", text):
            self.unable = "" if found[1] == "well" else found[1]
            self.mine = replace(self.mine, unable=self.unable)
        elif found := re.fullmatch(r"\((\d+) follows, and has (\d+)\)", text):
            assert self.members is not None
            self.members.joined(int(found[1]), self.now, is_clean=True)
            self.members.acknowledged(int(found[1]), int(found[2]), self.mine.end, self.now)
        elif found := re.fullmatch(r"\((\d+) is gone\)", text):
            assert self.members is not None
            self.members.left(int(found[1]), self.now)
        else:
            raise AssertionError(f"no such event: {text}")

    def view(self, text: str) -> GroupView:
        version, state, leader = 0, None, None
        replicas: dict[int, ReplicaNote] = {}
        unreadable: dict[int, str] = {}
        for word in text.split():
            key, _, value = word.partition("=")
            if re.fullmatch(r"v\d+", word):
                version = int(word[1:])
            elif found := re.fullmatch(r"e(\d+)/(\d+)", word):
                state = GroupState(int(found[1]), int(found[2]))
            elif key == "set":
                assert state is not None
                state = state.with_members(map(int, value.split(",")), 0)
            elif key == "next":
                assert state is not None
                state = state.preferring(int(value))
            elif key == "leader":
                number, _, claim = value.partition("/")
                epoch = 0 if state is None else state.epoch
                leader = LeaderNote(int(number), epoch, f"h:{number}", f"h:1{number}", claim)
            elif found := re.fullmatch(r"(\d+)@(\d+)([!~x]*)", word):
                ready = 0 if "!" in found[3] or state is None else state.epoch
                replicas[int(found[1])] = note(
                    int(found[1]), int(found[2]), ready=ready, is_clean="~" not in found[3],
                    unable="its disk is full" if "x" in found[3] else "",
                )  # fmt: skip
            elif found := re.fullmatch(r"(\d+)@another", word):
                replicas[int(found[1])] = replace(note(int(found[1]), 0), store="another")
            elif found := re.fullmatch(r"(\d+)@\?", word):
                unreadable[int(found[1])] = "it is no JSON"
            else:
                assert word == "nothing", word
        return GroupView(state, version, leader, replicas, unreadable)

    def text(self, made: list[actions.Action]) -> str:
        texts = [said(action) for action in made]
        waits = self.elector.state is State.RESTING or (
            self.elector.turns is not None and self.elector.turns.state is TurnState.WAITING
        )
        if waits and self.elector.due < inf:
            texts.append(f"wait until {self.elector.due:g}")
        return ", ".join(texts)


def said(action: actions.Action) -> str:
    """`action` in words."""
    match action:
        case actions.Open(seconds):
            return f"open {seconds:g} s"
        case actions.Announce(mine):
            return f"announce {mine.end} ready {mine.ready}" + (f" ({mine.unable})" if mine.unable else "")
        case actions.Report(mine):
            return f"report {mine.end} ready {mine.ready}" + (f" ({mine.unable})" if mine.unable else "")
        case actions.Claim(state, leader, version):
            return f"claim e{state.epoch} set={numbers(state.members)} as {leader.claim} at v{version}"
        case actions.Change(state, version):
            following = f" next={state.preferred}" if state.preferred else ""
            return f"change set={numbers(state.members)}{following} at v{version}"
        case actions.Lead(term):
            return f"lead e{term.state.epoch} until {term.lease.trusted_until:g} at least"
        case actions.Follow(leader, epoch):
            return "follow nobody" if leader is None else f"follow {leader.id} in e{epoch}"
        case actions.StopTaking(to):
            return f"stop taking for {to}"
        case actions.Answer(problem, to):
            return f"answer: {problem or f'{to} comes next'}"
        case actions.Log(level, event, values):
            return f"{level}: {event}" + (f" ({values['problem']})" if "problem" in values else "")
        case actions.ShowTrouble(problem):
            return f"trouble: {problem}" if problem else "well again"
    return {
        actions.Read: "read", actions.StepDown: "step down", actions.Leave: "leave", actions.Renew: "renew",
        actions.Watch: "watch", actions.EndCalls: "end calls", actions.StopStoring: "stop storing",
        actions.LeftSet: "left set", actions.TakeAgain: "take again",
    }[type(action)]  # fmt: skip


def numbers(members: tuple[int, ...]) -> str:
    return ",".join(map(str, members))


class Story(NamedTuple):
    """`lines`: of its trace, each in one; `remark`: what stands in brackets under its title."""

    title: str
    remark: str
    lines: list[str]


def stories(file: str) -> list[Story]:
    """The stories in `file`, in this folder. A line that does not begin with a time goes on with the one
    before."""
    found: list[Story] = []
    for line in map(str.strip, (Path(__file__).parent / file).read_text().splitlines()):
        if line.startswith("# "):
            found.append(Story(line[2:], "", []))
        elif found and line.startswith("("):
            found[-1] = found[-1]._replace(remark=line[1:-1])
        elif found and line.startswith("t="):
            found[-1].lines.append(line)
        elif found and line:
            found[-1].lines[-1] += " " + line
    return found


def play(story: Story, checker: Checker) -> None:
    """Have what stands before the arrows happen, and compare what is done with what stands behind them, and
    with the state tables."""
    traced = Traced(checker)
    if story.remark == "it leads":
        for line in LEADS.lines:
            traced.line(line.partition("->")[0].strip())
    elif story.remark:
        key, _, value = story.remark.partition("=")
        traced = Traced(checker, evolve(LIMITS, **{key: float(value)}))
    asked = [line.partition("->") for line in story.lines]
    wanted = [(left.strip(), " ".join(right.split())) for left, _, right in asked]
    made = [(left, traced.line(left)) for left, _ in wanted]
    assert made == wanted, "\n" + "\n".join(f"{left:<54} -> {right}" for left, right in made)


LEADS = next(story for story in stories("turns.txt") if story.title.endswith("that is alone leads"))
