from hypothesis import given, settings
from hypothesis import strategies as st
from mqframe_consistenthash.ring import HashRing, queue_text, ring_position

from mqframe.core.messages.message import MessageQueue

NAMES = st.sets(st.text(min_size=1, max_size=8), min_size=1, max_size=8)


def test_positions_are_the_first_four_bytes_of_the_md5() -> None:
    assert ring_position("") == 0xD41D8CD9
    assert ring_position("a") == 0x0CC175B9


def test_queues_are_written_as_java_writes_them() -> None:
    queue = MessageQueue("orders", "broker-a", 3)
    assert queue_text(queue) == "MessageQueue [topic=orders, brokerName=broker-a, queueId=3]"


def test_an_empty_ring_has_no_node() -> None:
    assert HashRing([], 10).node_of("x") is None
    assert HashRing(["a"], 0).node_of("x") is None


def test_a_key_on_a_node_belongs_to_it() -> None:
    assert HashRing(["a", "b"], 1).node_of("b-0") == "b"


@given(NAMES, st.text(max_size=8), st.text(min_size=1, max_size=8))
@settings(max_examples=100)
def test_a_new_node_only_takes(nodes: set[str], key: str, new: str) -> None:
    before = HashRing(sorted(nodes), 10).node_of(key)
    after = HashRing([*sorted(nodes), new], 10).node_of(key)
    assert after in (before, new)


@given(NAMES, st.text(max_size=8))
@settings(max_examples=50)
def test_the_order_of_nodes_does_not_matter(nodes: set[str], key: str) -> None:
    assert HashRing(sorted(nodes), 5).node_of(key) == HashRing(sorted(nodes, reverse=True), 5).node_of(key)
