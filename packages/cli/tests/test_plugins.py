"""`mqframe plugins`: what is installed."""

from __future__ import annotations

import json

from command_runs import run


def test_plugins_are_listed_with_distribution_version_and_options() -> None:
    rows = {(row["kind"], row["name"]): row for row in json.loads(run("plugins", "--json"))}
    row = rows["allocation", "consistent_hash"]
    assert row["distribution"] == "mqframe-plugin-consistenthash"
    assert row["version"] == "0.1.0"
    assert row["options"][0]["name"] == "virtual_nodes"
    assert row["options"][0]["default"] == "10"
    only = json.loads(run("plugins", "--json", "--kind", "selector", "--no-options"))
    assert {row["name"] for row in only} == {"hash", "random", "machine_room", "monotonic"}
    run("plugins", "--kind", "nonsense", code=2)


def test_the_table_of_plugins_is_not_cut() -> None:
    text = run("plugins")
    assert "mqframe-plugin-averagelybycircle" in text
    assert "virtual_nodes: int = 10" in text
