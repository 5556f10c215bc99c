"""`mqframe group` against a running server."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from command_runs import read, run

from mqframe import ClientSettings, ConsumeResult, PushConsumer


def test_groups(at: str) -> None:
    run("group", "create", "cli-group", "--no-enabled")
    (row,) = [row for row in read("group", "list") if row["group"] == "cli-group"]
    assert (row["enabled"], row["broadcast"]) == (False, True)
    shown = read("group", "show", "cli-group")
    assert (shown["lag"], shown["members"]) == (0, [])
    assert "nobody is online" in run("group", "show", "cli-group")
    run("group", "delete", "cli-group", "--offsets", "--yes")
    assert "cli-group" not in [row["group"] for row in read("group", "list")]


def test_a_group_is_switched_to_pop(at: str) -> None:
    run("topic", "create", "cli-popped")
    run("group", "create", "cli-poppers")
    assert read("group", "mode", "cli-poppers") == []
    wanted = [{"topic": "cli-popped", "group": "cli-poppers", "mode": "POP", "share": 2}]
    assert read("group", "mode", "cli-poppers", "cli-popped", "pop", "--share", "2") == wanted
    assert read("group", "mode", "cli-poppers", "cli-popped") == wanted
    assert read("group", "mode", "cli-poppers", "TBW102") == []
    run("group", "mode", "cli-poppers", "cli-popped", "push", code=2)


@contextmanager
def members(at: str, group: str, topic: str, **options) -> Iterator[list[PushConsumer]]:
    """Two members that have shared the queues of `topic`."""
    made = [
        PushConsumer(
            group, client=ClientSettings(nameserver=at, client_ip="10.0.0.1", instance_name=name), **options
        )
        for name in ("m1", "m2")
    ]
    for member in made:
        member.subscribe(topic, "*", lambda messages, context: ConsumeResult.SUCCESS)
        member.start()
    try:
        deadline = time.monotonic() + 60
        while not all(len(member.queues) in (2, 4) for member in made) or (
            not options and sum(len(member.queues) for member in made) != 4
        ):
            assert time.monotonic() < deadline, [member.queues for member in made]
            time.sleep(0.05)
        yield made
    finally:
        for member in made:
            member.stop()


def test_a_plan_of_another_strategy(at: str) -> None:
    run("topic", "create", "cli-planned", "--queues", "4")
    with members(at, "cli-planners", "cli-planned") as made:
        one, two = (member.client_id for member in made)
        plan = read("group", "plan", "cli-planners", "--allocate", "averagely_by_circle")
        queues = [each for each in plan["queues"] if each["topic"] == "cli-planned"]
        assert [(each["queue"], each["now"], each["then"], each["moves"]) for each in queues] == [
            (0, [one], [one], False),
            (1, [one], [two], True),
            (2, [two], [one], True),
            (3, [two], [two], False),
        ]
        assert (plan["queues_moved"], plan["problems"], plan["conflicts"]) == (2, [], [])
        shown = run("group", "plan", "cli-planners", "--allocate", "averagely_by_circle")
        lines = [line.split() for line in shown.splitlines()]
        assert [line[2] for line in lines if line[:1] == ["cli-planned"]] == ["1", "2"]
        shown = run("group", "plan", "cli-planners", "--add", "10.0.0.0@m0", "--remove", two, "--all")
        lines = [line.split() for line in shown.splitlines()]
        assert [line[1:] for line in lines if line and "@m" in line[0]] == [
            ["3", "comes"],  # the retry topic's queue, too
            ["3", "2"],
            ["2", "goes"],
        ]
        shown = run("group", "plan", "cli-planners", "--allocate", "lag_aware")
        assert "cli-planned: the lags of " in shown
        options = ("--allocate", "by_config", "--option", f"queues=cli-planned/{queues[0]['broker']}/0")
        assert "would all own cli-planned" in run("group", "plan", "cli-planners", *options, code=1)


def test_what_cannot_be_planned_is_said(at: str) -> None:
    run("group", "plan", "cli-nobody", code=2)
    run("group", "plan", "cli-nobody", "--option", "virtual_nodes", code=2)
    run("group", "plan", "cli-nobody", "--allocate", "averagly", code=2)
    run("topic", "create", "cli-loud", "--queues", "4")
    with members(at, "cli-loud", "cli-loud", broadcasting=True):
        run("group", "plan", "cli-loud", code=2)
