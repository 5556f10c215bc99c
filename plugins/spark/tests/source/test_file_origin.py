import pytest
from mqframe_spark.source.file_origin import FileOrigin
from mqframe_spark.source.options import SourceOptions, Store
from mqframe_spark.source.positions import DataLoss

from mqframe.core.errors import FixError
from mqframe.core.messages.message import MessageQueue

from_time = 1_700_000_000_000


def origin(store, **options) -> FileOrigin:
    return FileOrigin(SourceOptions(**{"path": (Store("a", store.folder),), "topics": ("t",), **options}))


def test_queues_and_their_bounds(store) -> None:
    for number in range(5):
        store.add("t", number % 2)
    queues = [MessageQueue("t", "a", 0), MessageQueue("t", "a", 1)]
    found = origin(store)
    assert found.queues() == queues
    assert found.beginnings(queues) == {queues[0]: 0, queues[1]: 0}
    assert found.heads(queues) == {queues[0]: 3, queues[1]: 2}
    found.close()


def test_a_topic_without_a_queue_is_named_unless_it_may_come(store) -> None:
    store.add("another")
    with pytest.raises(FixError, match=f"option topic = 't': no queue of it is in {store.folder}"):
        origin(store).queues()
    assert origin(store).queues(patient=True) == []


def test_a_pattern_leaves_the_system_s_topics_out(store) -> None:
    for topic in ("t", "%RETRY%t", "%DLQ%t", "SCHEDULE_TOPIC_XXXX"):
        store.add(topic)
    assert origin(store, topics=(), topic_pattern=".*").queues() == [MessageQueue("t", "a", 0)]
    assert origin(store, topics=("%RETRY%t",)).queues() == [MessageQueue("%RETRY%t", "a", 0)]


def test_a_time_is_found_between_messages(store) -> None:
    for _ in range(8):
        store.add("t")  # one each second
    found, queue = origin(store), MessageQueue("t", "a", 0)
    for seconds, offset in ((-5, 0), (0, 0), (2.5, 3), (3, 3), (7, 7), (9, 8)):
        assert found.at_time(queue, from_time + int(1000 * seconds)) == offset


def test_bytes_come_from_the_entries_of_queues(store) -> None:
    store.add("t")
    first = store.end
    store.add("t")
    found, queue = origin(store), MessageQueue("t", "a", 0)
    assert (found.bytes_of(queue, 0, 1), found.bytes_of(queue, 0, 2)) == (first, store.end)


def test_a_folder_that_offsets_name_must_be_there(store) -> None:
    store.add("t")
    with pytest.raises(FixError, match="no folder is named b, of which offsets are given"):
        origin(store).heads([MessageQueue("t", "b", 0)])


def test_a_queue_that_was_read_and_is_gone_is_a_loss(store) -> None:
    store.add("t")
    with pytest.raises(DataLoss, match="topic u is gone from broker a"):
        origin(store).queues(known={MessageQueue("u", "a", 0): 5})
