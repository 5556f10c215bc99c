import json
from random import Random

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_lagaware.snapshot import LagSnapshot, Note, read_note

from mqframe.core.errors import BodyError
from mqframe.core.messages.message import MessageQueue

NAMES = st.text(min_size=1, max_size=12)


@st.composite
def snapshots(draw):
    queues = draw(st.sets(st.tuples(NAMES, st.integers(0, 5000)), max_size=12))
    owners = {MessageQueue("orders", broker, number): draw(NAMES) for broker, number in queues}
    return LagSnapshot(
        epoch=draw(st.integers(1, 1 << 40)),
        publisher=draw(NAMES),
        taken_ms=draw(st.integers(0, 1 << 42)),
        from_ms=draw(st.integers(0, 1 << 42)),
        queue_cost=draw(st.integers(1, 10**9)),
        threshold=draw(st.floats(0, 1)),
        lags={queue: draw(st.integers(0, 1 << 60)) for queue in owners},
        owners=owners,
    )


@given(st.lists(snapshots(), min_size=1, max_size=2))
def test_a_note_is_read_as_it_was_written(found: list[LagSnapshot]) -> None:
    note = Note(tuple(found))
    read = read_note(note.text(), "orders")
    assert read == note
    assert read.newest == found[-1]
    assert read.text() == note.text()
    assert read.text().isascii()  # whatever name servers make of texts


def test_all_members_split_by_what_the_note_says() -> None:
    queues = [MessageQueue("orders", "broker-a", i) for i in range(4)]
    made = LagSnapshot(
        epoch=1,
        publisher="a",
        taken_ms=0,
        from_ms=0,
        queue_cost=10,
        threshold=0.25,
        lags={queues[0]: 900},
        owners=dict.fromkeys(queues, "a"),
    )
    (read,) = read_note(Note((made,)).text(), "orders").snapshots
    owners = read.split(queues, ["a", "b"])
    assert [owners[queue] for queue in queues] == ["a", "b", "b", "b"]


def test_a_note_of_thousands_of_queues_fits_into_a_header() -> None:
    random = Random(7)
    owners = {
        MessageQueue("orders", f"broker-{i % 8}", i // 8): f"10.0.0.{random.randrange(200)}@{i}#77123456789"
        for i in range(2048)
    }
    made = LagSnapshot(
        epoch=1,
        publisher="a",
        taken_ms=0,
        from_ms=0,
        queue_cost=10,
        threshold=0.25,
        lags={queue: random.randrange(10**5) for queue in owners},
        owners={queue: f"{owner.partition('@')[0]}@12345#771" for queue, owner in owners.items()},
    )
    note = Note((made, attrs.evolve(made, epoch=2)))
    text = note.text()
    assert text.isascii()
    assert len(text) < 65_536
    assert read_note(text, "orders") == note
    for wrong in (text[:-5], text[:2] + "~" * 10, "z:", "z:\x00"):
        with pytest.raises(BodyError, match="cannot be read"):
            read_note(wrong, "orders")


GOOD = json.loads(
    Note(
        (
            LagSnapshot(
                epoch=1,
                publisher="a",
                taken_ms=0,
                from_ms=0,
                queue_cost=1,
                threshold=0.25,
                lags={},
                owners={MessageQueue("orders", "b", 0): "a"},
            ),
        )
    ).text()
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "cannot be read"),
        ("[]", "cannot be read"),
        ("{}", "cannot be read"),
        ("[" * 100_000, "cannot be read"),
        (json.dumps({**GOOD, "version": 2}), "version 2; 1 can be read"),
        (json.dumps({**GOOD, "snapshots": []}), "holds no snapshot"),
        (json.dumps({**GOOD, "snapshots": [{**GOOD["snapshots"][0], "clients": []}]}), "cannot be read"),
        (
            json.dumps({**GOOD, "snapshots": [{**GOOD["snapshots"][0], "queue_cost": 1e999}]}),
            "cannot be read",
        ),
        (json.dumps({**GOOD, "snapshots": [{**GOOD["snapshots"][0], "queues": {"b": [[1]]}}]}), "cannot be"),
    ],
)
def test_other_texts_are_refused(text: str, said: str) -> None:
    with pytest.raises(BodyError, match=said):
        read_note(text, "orders")


@given(st.one_of(st.text(), st.recursive(st.none() | st.integers(), lambda x: st.lists(x)).map(json.dumps)))
def test_any_text_is_read_or_refused(text: str) -> None:
    with pytest.raises(BodyError):
        read_note(text, "orders")
