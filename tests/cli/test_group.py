"""`mqframe group` against a running server."""

from __future__ import annotations

from command_runs import read, run


def test_groups(at: str) -> None:
    run("group", "create", "cli-group", "--no-enabled")
    (row,) = [row for row in read("group", "list") if row["group"] == "cli-group"]
    assert (row["enabled"], row["broadcast"]) == (False, True)
    shown = read("group", "show", "cli-group")
    assert (shown["lag"], shown["members"]) == (0, [])
    assert "nobody is online" in run("group", "show", "cli-group")
    run("group", "delete", "cli-group", "--offsets")
    assert "cli-group" not in [row["group"] for row in read("group", "list")]


def test_a_group_is_switched_to_pop(at: str) -> None:
    run("topic", "create", "cli-popped")
    run("group", "create", "cli-poppers")
    assert read("group", "mode", "cli-poppers") == []
    wanted = [{"topic": "cli-popped", "group": "cli-poppers", "mode": "POP", "share": 2}]
    assert read("group", "mode", "cli-poppers", "cli-popped", "pop", "--share", "2") == wanted
    assert read("group", "mode", "cli-poppers", "cli-popped") == wanted
    assert read("group", "mode", "cli-poppers", "absent") == []
    run("group", "mode", "cli-poppers", "cli-popped", "push", code=2)
