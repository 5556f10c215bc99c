from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_lagaware.split import even, split

from mqframe.core.messages.message import MessageQueue

QUEUES = [MessageQueue("orders", "broker-a", i) for i in range(12)]
MEMBERS = ["10.0.0.1@1", "10.0.0.2@2", "10.0.0.3@3"]


def shared(lags, owners=None, queues=QUEUES, clients=MEMBERS, queue_cost=1000, threshold=0.25):
    return split(lags, owners or {}, queues, clients, queue_cost=queue_cost, threshold=threshold)


def moved(before, after):
    return [queue.queue_id for queue in sorted(after) if before.get(queue) != after[queue]]


def loads(owners, lags, queue_cost=1000):
    found = Counter()
    for queue, client in owners.items():
        found[client] += lags.get(queue, 0) + queue_cost
    return found


@st.composite
def situations(draw):
    queues = [MessageQueue("orders", f"broker-{i % 2}", i // 2) for i in range(draw(st.integers(1, 24)))]
    clients = [f"c{i}" for i in range(draw(st.integers(1, 7)))]
    lag = st.one_of(st.integers(0, 50), st.integers(0, 10**12))
    lags = {queue: draw(lag) for queue in queues if draw(st.booleans())}
    names = st.sampled_from([*clients, "gone"])
    owners = {queue: draw(names) for queue in queues if draw(st.booleans())}
    threshold = draw(st.sampled_from([0.0, 0.1, 0.25, 0.9, 1.0]))
    return sorted(queues), clients, lags, owners, threshold


@given(situations())
def test_every_queue_has_one_owner_and_the_result_is_stable(situation) -> None:
    queues, clients, lags, owners, threshold = situation
    found = shared(lags, owners, queues, clients, threshold=threshold)
    assert sorted(found) == queues
    assert set(found.values()) <= set(clients)
    assert shared(lags, found, queues, clients, threshold=threshold) == found


@given(situations())
def test_the_order_in_which_members_learnt_of_things_does_not_matter(situation) -> None:
    queues, clients, lags, owners, threshold = situation
    turned = dict(reversed(lags.items())), dict(reversed(owners.items()))
    assert shared(*turned, queues, clients, threshold=threshold) == shared(
        lags, owners, queues, clients, threshold=threshold
    )


@given(situations())
def test_a_move_makes_nobody_carry_more_than_the_giver_did(situation) -> None:
    queues, clients, lags, owners, _ = situation
    at_home = {queue: owners.get(queue, clients[0]) for queue in queues}
    at_home = {q: c if c in clients else clients[0] for q, c in at_home.items()}
    before, after = loads(at_home, lags), loads(shared(lags, at_home, queues, clients), lags)
    assert max(after.values()) <= max(before.values())


@given(situations())
def test_members_left_without_a_queue_have_none_to_be_given(situation) -> None:
    queues, clients, lags, owners, threshold = situation
    found = shared(lags, owners, queues, clients, threshold=min(threshold, 0.9))
    counts = Counter(dict.fromkeys(clients, 0)) + Counter(found.values())
    if min(counts.get(client, 0) for client in clients) == 0:
        most = [client for client in clients if counts[client] > 1]
        for client in most:  # each of its queues is so much of its load that moving it gains nothing
            held = [lags.get(queue, 0) + 1000 for queue in queues if found[queue] == client]
            assert all(cost * (1 + threshold) >= sum(held) for cost in held)


def test_the_longest_lags_go_to_different_members() -> None:
    lags = {QUEUES[0]: 90_000, QUEUES[1]: 80_000, QUEUES[2]: 70_000}
    found = shared(lags)
    assert len({found[queue] for queue in QUEUES[:3]}) == 3
    got = loads(found, lags)
    assert max(got.values()) - min(got.values()) < 20_000
    # The one with the longest lag has fewest of the others.
    counts = Counter(found.values())
    assert counts[found[QUEUES[0]]] < counts[found[QUEUES[2]]]


def test_equal_queues_are_shared_evenly() -> None:
    assert sorted(Counter(shared({}).values()).values()) == [4, 4, 4]


def test_a_member_that_comes_gets_its_share_and_nothing_else_moves() -> None:
    before = even(QUEUES, MEMBERS[:2])
    after = shared({}, before)
    assert sorted(Counter(after.values()).values()) == [4, 4, 4]
    assert {after[queue] for queue in QUEUES if after[queue] != before[queue]} == {MEMBERS[2]}


def test_of_a_member_that_goes_only_its_own_queues_move() -> None:
    before = even(QUEUES, MEMBERS)
    after = shared({}, before, clients=MEMBERS[1:])
    assert moved(before, after) == [0, 1, 2, 3]
    assert sorted(Counter(after.values()).values()) == [6, 6]


@pytest.mark.parametrize(("lag", "moves"), [(0, []), (1300, []), (20_000, [1, 2])])
def test_a_queue_moves_only_where_it_pays(lag: int, moves: list[int]) -> None:
    before = even(QUEUES, MEMBERS)
    after = shared({QUEUES[0]: lag}, before)
    assert len(moved(before, after)) >= len(moves)
    assert bool(moved(before, after)) == bool(moves)
    assert after[QUEUES[0]] == before[QUEUES[0]]


@pytest.mark.parametrize("seed", range(60))
def test_jitter_moves_nothing_to_and_fro(seed: int) -> None:
    """100 snapshots of lags that go up and down by a twentieth: no queue moves twice."""
    random = Random(seed)
    usual = {queue: int(10 ** random.uniform(0, 6)) for queue in QUEUES}
    owners = shared(usual, even(QUEUES, MEMBERS))
    moves: Counter[int] = Counter()
    for _ in range(100):
        lags = {queue: int(lag * random.uniform(0.95, 1.05)) for queue, lag in usual.items()}
        after = shared(lags, owners)
        moves.update(moved(owners, after))
        owners = after
    assert max(moves.values(), default=0) <= 1


def test_members_that_carry_the_same_come_in_another_order_for_each_topic() -> None:
    first = set()
    for number in range(12):
        (queue,) = [MessageQueue(f"topic-{number}", "broker-a", 0)]
        first.add(split({}, {}, [queue], MEMBERS, queue_cost=1, threshold=0.25)[queue])
    assert first == set(MEMBERS)


def test_without_anything_known_it_is_as_averagely() -> None:
    counts = [len([q for q in QUEUES[:11] if even(QUEUES[:11], MEMBERS)[q] == c]) for c in MEMBERS]
    assert counts == [4, 4, 3]
    assert [even(QUEUES, MEMBERS)[queue] for queue in (QUEUES[0], QUEUES[4], QUEUES[11])] == MEMBERS
    assert even(QUEUES[:1], MEMBERS) == {QUEUES[0]: MEMBERS[0]}
