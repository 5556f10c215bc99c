from __future__ import annotations

import pytest
from mqframe_kombu.options import NAMES, TransportOptions, options_of

from mqframe.core.errors import SettingError


def test_nothing_given_is_the_default() -> None:
    assert options_of({}) == TransportOptions()


def test_what_is_given_counts_and_what_is_kombus_is_left_to_it() -> None:
    options = options_of(
        {"visibility_timeout": 90, "priority_steps": [0, 5], "max_retries": 3, "interval_start": 0.1}
    )
    assert options == TransportOptions(visibility_timeout=90, priority_steps=(0, 5))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"visibilty_timeout": 5}, "'visibilty_timeout'.*did you mean visibility_timeout"),
        ({"polling_interval": 1}, "nothing is polled here"),
        ({"xyzzy": 1}, "it knows .*visibility_timeout"),
        ({"visibility_timeout": "5"}, r"transport_options\['visibility_timeout'\]: '5' is not a number"),
        ({"visibility_timeout": 0}, "0 is not a number from 1 to 43200"),
        ({"topic_queues": 1.5}, "1.5 is not a whole number"),
        ({"topic_queues": True}, "True is not a number"),
        ({"priority_steps": [3, 6]}, "rising priorities"),
        ({"priority_steps": "0369"}, "rising priorities"),
        ({"delays": "no"}, "neither True nor False"),
        ({"queue_name_prefix": 3}, "3 is not a text"),
    ],
)
def test_what_is_wrong_is_named(given: dict[str, object], said: str) -> None:
    with pytest.raises(SettingError, match=said):
        options_of(given)


def test_all_are_in_the_table_of_the_readme() -> None:
    from pathlib import Path

    readme = (Path(__file__).parents[1] / "README.md").read_text("utf-8")
    assert [name for name in NAMES if f"| `{name}` |" not in readme] == []
