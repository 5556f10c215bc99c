import numpy as np
import pyarrow as pa
import pytest
from mqframe_spark.records.selecting import selected_batch

from mqframe.core.filtering.tag_filter import TagFilter
from mqframe.core.messages.message import MessageQueue

QUEUE = MessageQueue("t", "a", 0)


@pytest.fixture
def select(record):
    """Selects from six messages with the tags tag0, tag1, tag2, tag0 and so on."""
    records = [record(number, position=1000 * number) for number in range(6)]
    sizes = np.array([len(one) for one in records], np.int64)
    starts = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    physical = np.array([1000 * number for number in range(6)], np.int64)

    def call(tags: str, *columns: str) -> pa.RecordBatch:
        data = pa.py_buffer(b"".join(records))
        return selected_batch(data, starts, sizes, physical, QUEUE, TagFilter(tags), columns)

    return call


def test_all_tags(select) -> None:
    found = select("*", "queue_offset", "tags")
    assert found.to_pydict() == {
        "queue_offset": [0, 1, 2, 3, 4, 5],
        "tags": ["tag0", "tag1", "tag2", "tag0", "tag1", "tag2"],
    }


def test_some_tags_whether_their_column_is_wanted_or_not(select) -> None:
    assert select("tag0 || tag2", "body", "queue_offset").to_pydict() == {
        "body": [b"body 0", b"body 2", b"body 3", b"body 5"],
        "queue_offset": [0, 2, 3, 5],
    }
    assert select("tag1", "tags").to_pydict() == {"tags": ["tag1", "tag1"]}


def test_a_tag_that_nobody_has(select) -> None:
    found = select("tag9", "body")
    assert (found.num_rows, found.schema.names) == (0, ["body"])
