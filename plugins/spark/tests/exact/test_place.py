"""Where records live, and how long."""

from pathlib import Path

import pytest
from mqframe_spark.exact.commit_folder import open_folder
from mqframe_spark.exact.place import (
    CommitPlace,
    batch_place,
    forget_unnamed,
    group_of,
    is_query,
    stream_place,
)
from mqframe_spark.exact.rules import LEFT_KEEP_MS, first
from mqframe_spark.sink.options import SinkOptions


def options(**change: str) -> SinkOptions:
    return SinkOptions("127.0.0.1:9876", "orders", **change)  # type: ignore[arg-type]


def test_a_stream_has_its_record_in_its_checkpoint() -> None:
    assert stream_place(options(checkpoint_location="file:///c/")) == CommitPlace("/c/mqframe", "stream")
    assert stream_place(options(checkpoint_location="/c", commit_path="/d")) == CommitPlace("/d", "stream")


def test_writes_of_one_name_share_a_record_and_others_do_not() -> None:
    assert batch_place(options(commit_path="/c", query_name="load-1")) == CommitPlace("/c", "named-load-1")
    one, other = batch_place(options(commit_path="/c")), batch_place(options(commit_path="/c"))
    assert one.query != other.query
    assert is_query(one.query)


def test_those_who_share_a_path_share_a_group() -> None:
    stream, other = (
        stream_place(options(checkpoint_location="/c")),
        stream_place(options(checkpoint_location="/d")),
    )
    assert group_of(options(), stream) == group_of(options(), CommitPlace("/c/mqframe", "named-x"))
    assert group_of(options(), stream) != group_of(options(), other)
    assert group_of(options(group="mine"), stream) == "mine"


@pytest.mark.parametrize("name", ["", "..", "a/b", ".hidden", "a" * 200, "ü"])
def test_names_from_messages_stay_in_the_folder(name: str) -> None:
    assert not is_query(name)


def test_records_that_nobody_can_need_are_forgotten(tmp_path: Path) -> None:
    now = 10 * LEFT_KEEP_MS
    old = batch_place(options(commit_path=str(tmp_path)), lambda: now - LEFT_KEEP_MS - 1)
    young = batch_place(options(commit_path=str(tmp_path)), lambda: now - LEFT_KEEP_MS)
    named = batch_place(options(commit_path=str(tmp_path), query_name="unnamed-1-a"))
    stream = stream_place(options(commit_path=str(tmp_path)))
    for place in (old, young, named, stream):
        place.record().publish(first("r"))
    (tmp_path / "notes.txt").touch()
    forget_unnamed(str(tmp_path), now)
    left = {young.query, named.query, stream.query, "notes.txt"}
    assert set(open_folder("commitPath", str(tmp_path)).names()) == left
