"""How a plan is shown."""

from __future__ import annotations

import json

import pytest
from mqframe_admin.rules.allocation_plan import AllocationPlan, QueuePlan, TopicPlan
from mqframe_cli.group_plan import options_of, show_plan

from mqframe.core.errors import SettingError
from mqframe.core.messages.message import MessageQueue

QUEUES = [MessageQueue("orders", "broker-a", i) for i in range(3)]
PLAN = AllocationPlan(
    group="billing",
    strategy="mine",
    now=("a", "b", "c"),
    then=("a", "b", "d"),
    silent={"b": "late", "c": "late"},
    topics=(
        TopicPlan(
            "orders",
            (
                QueuePlan(QUEUES[0], ("a",), ("a",)),
                QueuePlan(QUEUES[1], ("a",), ("d",)),
                QueuePlan(QUEUES[2], (), ("b",), known=False),
            ),
            "the moon",
        ),
    ),
    problems=("member b does not say what it holds: late",),
)


def test_json_has_everything(capsys: pytest.CaptureFixture[str]) -> None:
    show_plan(PLAN, as_json=True, every=False)
    assert json.loads(capsys.readouterr().out) == {
        "group": "billing",
        "allocate": "mine",
        "queues_moved": 1,
        "queues_unknown": 1,
        "queues_total": 3,
        "members": [
            {"client": "a", "before": 2, "after": 1, "state": ""},
            {"client": "b", "before": None, "after": 1, "state": "does not answer"},
            {"client": "c", "before": None, "after": None, "state": "goes, does not answer"},
            {"client": "d", "before": None, "after": 1, "state": "comes"},
        ],
        "topics": [{"topic": "orders", "basis": "the moon"}],
        "queues": [
            {
                "topic": "orders",
                "broker": "broker-a",
                "queue": 0,
                "now": ["a"],
                "then": ["a"],
                "moves": False,
            },
            {"topic": "orders", "broker": "broker-a", "queue": 1, "now": ["a"], "then": ["d"], "moves": True},
            {"topic": "orders", "broker": "broker-a", "queue": 2, "now": None, "then": ["b"], "moves": None},
        ],
        "problems": ["member b does not say what it holds: late"],
        "conflicts": [],
    }


@pytest.mark.parametrize(("every", "shown"), [(False, ["1", "2"]), (True, ["0", "1", "2"])])
def test_people_see_the_queues_that_move_or_may(
    capsys: pytest.CaptureFixture[str], every: bool, shown: list[str]
) -> None:
    show_plan(PLAN, as_json=False, every=every)
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [line[2] for line in lines if line[:2] == ["orders", "broker-a"]] == shown
    assert ["orders:", "the", "moon"] in lines
    assert lines[-1] == "! member b does not say what it holds: late".split()


def test_options_are_pairs() -> None:
    assert options_of(["a=1", "b=x=y", "c="]) == {"a": "1", "b": "x=y", "c": ""}
    for wrong, said in (
        (["a"], "'a': must be key=value"),
        (["=1"], "must be"),
        (["a=1", "a=2"], "a is given twice"),
    ):
        with pytest.raises(SettingError, match=said):
            options_of(wrong)
