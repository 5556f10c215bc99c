from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from mqframe_assignment.rules.bodies import RequestModeBody
from mqframe_assignment.rules.request_modes import RequestModes, share_out

from mqframe.core.messages.message import MessageQueue


def split(member: str, queues: Sequence[MessageQueue], members: Sequence[str]) -> list[MessageQueue]:
    return [queue for at, queue in enumerate(queues) if members[at % len(members)] == member]


def queues_of(*counts: int) -> list[MessageQueue]:
    return [MessageQueue("t", f"b{at}", number) for at, count in enumerate(counts) for number in range(count)]


def test_all_share_each_broker_by_default():
    assert share_out("x", queues_of(2, 3), ["x", "y"], -1, split) == [
        MessageQueue("t", "b0", -1),
        MessageQueue("t", "b1", -1),
    ]
    assert share_out("x", queues_of(2), ["x", "y"], 1, split) == [MessageQueue("t", "b0", -1)]


@given(st.integers(1, 9), st.integers(3, 9), st.integers(1, 5))
def test_no_queue_is_left_alone(queue_count: int, member_count: int, share: int):
    queues, members = queues_of(queue_count), [f"m{number}" for number in range(member_count)]
    shares = {member: share_out(member, queues, members, share, split) for member in members}
    popped = [queue for each in shares.values() for queue in each]
    assert all(len(each) == len(set(each)) for each in shares.values())
    assert all(shares.values()), "a member has nothing"
    if share < member_count - 1:
        assert set(popped) == set(queues)
    if member_count <= queue_count and share < member_count - 1:
        assert all(popped.count(queue) == share + 1 for queue in queues)
    assert share_out("stranger", queues, members, share, split) in (
        [],
        [MessageQueue("t", "b0", -1)],
    )


def test_modes_are_kept_by_topic_and_group():
    modes = RequestModes()
    assert modes.find("t", "g", "PULL", -1).mode == "PULL"
    assert modes.find("t", "g", "POP", 4) == RequestModeBody("t", "g", "POP", 4)
    assert modes.find("%RETRY%g", "g", "POP", 4).mode == "PULL"
    modes.put(RequestModeBody("t", "g", "POP", 2))
    again = RequestModes()
    again.load(modes.dump())
    assert again.find("t", "g", "PULL", -1) == RequestModeBody("t", "g", "POP", 2)
    assert again.find("t", "h", "PULL", -1).mode == "PULL"
    assert (modes.changes, again.changes) == (1, 0)
