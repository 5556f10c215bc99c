"""Counts and sums by tag, over rows written down here; over a topic see `packages/cli/tests/quickstart`."""

from typing import Any

import pytest
from mqframe_spark.summary import SparkSummary, by_tag

from mqframe import PluginManager
from mqframe.hooks.interfaces import TagSummary

ROWS = """
    values ('paid', '{"cents": 3, "odd `name.x": 1}'), ('paid', '{"cents": 4.5}'),
           ('paid', '{"cents": "no"}'), ('paid', 'no json'),
           (null, '{"cents": -1}'), ('open', '{"euros": 9}')
    as rows (tags, text)
"""


@pytest.fixture(scope="module")
def table(spark) -> Any:
    return spark.sql(f"select tags, cast(text as binary) as body from {ROWS}")


def test_rows_are_counted_by_tag_and_numbers_summed_up(table) -> None:
    assert by_tag(table, "cents") == {
        "paid": TagSummary(4, 2, 7.5),
        "": TagSummary(1, 1, -1.0),
        "open": TagSummary(1, 0, 0.0),
    }


def test_without_a_field_rows_are_only_counted(table) -> None:
    assert by_tag(table) == {"paid": TagSummary(4), "": TagSummary(1), "open": TagSummary(1)}


def test_any_name_may_be_that_of_the_field(table) -> None:
    assert by_tag(table, "odd `name.x")["paid"] == TagSummary(4, 1, 1.0)


class Session:
    """Reads nothing, but says what it was to read."""

    def __init__(self) -> None:
        self.read = self
        self.given: dict[str, str] = {}
        self.stopped = 0

    def format(self, name: str) -> "Session":
        assert name == "mqframe"
        return self

    def options(self, **given: str) -> "Session":
        self.given = given
        return self

    def load(self) -> Any:
        raise ConnectionError("nobody answers")

    def stop(self) -> None:
        self.stopped += 1


def test_the_topic_is_read_in_a_session_that_ends_also_when_that_fails(monkeypatch) -> None:
    session = Session()
    monkeypatch.setattr("mqframe_spark.local.local_session", lambda name: session)
    summary = PluginManager().create("topic_summary", "spark")
    assert isinstance(summary, SparkSummary)
    with pytest.raises(ConnectionError, match="nobody answers"):
        summary.summarize("127.0.0.1:1", "orders", "cents")
    assert session.given == {"nameserver": "127.0.0.1:1", "topic": "orders"}
    assert session.stopped == 1
