import pytest
from mqframe_spark.source.deletions import Deletions, missing_of
from mqframe_spark.source.options import SourceOptions
from mqframe_spark.source.positions import DataLoss

from mqframe.core.messages.message import MessageQueue

A0, A1, B0 = MessageQueue("t", "a", 0), MessageQueue("t", "a", 1), MessageQueue("t", "b", 0)
OTHER = MessageQueue("u", "a", 0)


def test_a_topic_is_missing_when_none_of_its_queues_is_left_on_a_broker() -> None:
    assert missing_of([A0, A1, B0, OTHER], [A0, A1, B0, OTHER]) == []
    assert missing_of([A0, A1, B0, OTHER], [A1]) == [("t", "b"), ("u", "a")]
    assert missing_of([], [A0]) == []


def test_what_is_gone_is_told_with_how_far_it_was_read() -> None:
    with pytest.raises(DataLoss, match=r"topic t is gone from broker a, .* read up to \{0: 5, 1: 7\}"):
        Deletions(SourceOptions()).report([("t", "a")], {A1: 7, A0: 5, B0: 1, OTHER: 2})


def test_it_is_told_once_where_it_is_no_error(caplog) -> None:
    deletions = Deletions(SourceOptions(fail_on_data_loss=False))
    for _ in range(2):
        deletions.report([("t", "a"), ("u", "a")], {A0: 5, OTHER: 2})
    said = caplog.text
    assert (said.count("topic t is gone"), said.count("topic u is gone")) == (1, 1)
