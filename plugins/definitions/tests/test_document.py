"""Files of definitions, read and written."""

from __future__ import annotations

import msgspec
import pytest
from mqframe_definitions.document import read_document, write_document
from mqframe_definitions.kind import kind_classes

from mqframe.core.errors import SettingError

SPECS = {name: kind.Spec for name, kind in kind_classes().items()}
TEXT = """\
[topics.orders]
queues = 4
type = "FIFO"

[topics."order-lines"]

[groups.billing]
retries_max = 3
retry_waits = [10000, 60000]

[groups.growing.retry_waits]
initial = 1000

[users.shop]
secret_variable = "SHOP_SECRET"

[users.shop.rules."Topic:orders"]
actions = ["Pub", "Sub"]
"""


def test_a_file_says_what_it_states_and_no_more() -> None:
    found = read_document(TEXT, SPECS, "cluster.toml")
    assert found["topics"] == {"orders": {"queues": 4, "type": "FIFO"}, "order-lines": {}}
    assert list(found["groups"]) == ["billing", "growing"]
    assert found["groups"]["billing"] == {"retries_max": 3, "retry_waits": [10000, 60000]}
    assert msgspec.to_builtins(found["groups"]["growing"]["retry_waits"]) == {
        "initial": 1000,
        "max": 7_200_000,
        "multiplier": 2,
    }
    assert msgspec.to_builtins(found["users"]["shop"]["rules"]) == {
        "Topic:orders": {"actions": ["Pub", "Sub"], "allow": True, "sources": []}
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[topics", "cluster.toml is no TOML"),
        ("[topic.orders]", "[topic] is no kind of definition; did you mean topics?"),
        ("topics = 3", "topics must be tables, as [topics.name]"),
        ("[topics]\norders = 3", "[topics.orders] must be a table"),
        ("[topics.orders]\nqueus = 3", "did you mean queues?"),
        ('[topics.orders]\nqueues = "3"', "[topics.orders]: Expected `int`, got `str` - at `$.queues`"),
        ("[topics.orders]\nqueues = 0", "queues = 0: must be within 1 and 65535"),
        ("[topics.orders]\nperm = 8", "perm = 8: 4 read, 2 write, 6 both"),
        ('[users.shop.rules."*"]\nactions = ["Publish"]', "Invalid enum value 'Publish'"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(text: str, said: str) -> None:
    with pytest.raises(SettingError) as caught:
        read_document(text, SPECS, "cluster.toml")
    assert said in str(caught.value)
    assert str(caught.value).startswith("cluster.toml")


def test_what_was_written_is_read_as_the_same() -> None:
    stated = read_document(TEXT, SPECS, "cluster.toml")
    made = {
        kind: {name: SPECS[kind](**fields) for name, fields in named.items()}
        for kind, named in stated.items()
    }
    again = read_document(write_document(made), SPECS, "written")
    assert {
        kind: {name: SPECS[kind](**fields) for name, fields in named.items()} for kind, named in again.items()
    } == made
    assert "perm" not in write_document(made)
