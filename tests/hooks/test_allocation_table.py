"""Every row that the Java client computed, through the manager, as a consumer makes its strategy."""

import json
from pathlib import Path

import pytest

from mqframe.core.messages.message import MessageQueue
from mqframe.hooks.manager import PluginManager

TABLE = json.loads((Path(__file__).parents[1] / "data/algorithms/allocation.json").read_text())


def queue(text: str) -> MessageQueue:
    broker, _, number = text.rpartition("/")
    return MessageQueue(TABLE["topic"], broker, int(number))


def choice(text: str) -> tuple[str, dict[str, str]]:
    """ "consistent_hash {virtual_nodes: 10}" as a name and options."""
    name, _, options = text.partition(" ")
    key, _, value = options.strip("{}").partition(": ")
    return name, {key: value.strip("[]")} if key else {}


STRATEGIES = sorted({row[0] for shape in TABLE["shapes"] for row in shape["results"]})


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_agrees_with_the_java_client(strategy: str) -> None:
    made = PluginManager().create("allocation", choice(strategy))
    rows = 0
    for shape in TABLE["shapes"]:
        queues = [queue(text) for text in shape["queues"]]
        for name, wire_name, results in shape["results"]:
            if name != strategy:
                continue
            rows += 1
            assert made.wire_name == wire_name
            for client, indexes in zip(shape["clients"], results, strict=True):
                wanted = [queues[index] for index in indexes]
                assert made.allocate("billing", client, queues, shape["clients"]) == wanted
    assert rows == 42


def test_the_table_has_all_strategies_that_java_computes() -> None:
    assert len(STRATEGIES) == 8
    assert sum(len(shape["results"]) for shape in TABLE["shapes"]) == 336
