"""Batches are decided as if their messages came one by one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_deduplication.batches import in_one_row, plan, read_elements, results
from mqframe_deduplication.window import First, Identity, Window, identity

from mqframe.core.errors import BodyError
from mqframe.core.messages.batch import decode_batch, encode_element
from mqframe.core.messages.properties import encode_properties
from mqframe.core.storage.stored import StoredBatch


def batch_of(*keys: str | None) -> bytes:
    return b"".join(
        encode_element(
            f"body-{number}".encode(),
            encode_properties({"UNIQ_KEY": f"id-{number}", "KEY": key or ""}).encode(),
            number,
        )
        for number, key in enumerate(keys)
    )


def identify(key: str) -> Identity:
    return identity("orders", "", key)


@given(
    st.lists(st.sampled_from([None, "a", "b", "c", "d"]), min_size=1, max_size=12),
    st.sets(st.sampled_from(["a", "b", "c"])),
)
def test_each_message_gets_what_it_would_get_alone(keys: list[str | None], stored_before: set[str]) -> None:
    window = Window(10**6, 100)
    for number, key in enumerate(sorted(stored_before)):
        window.note(identify(key), First(number * 50, 50, 3, number, 0, f"old-{key}"))
    elements = read_elements(batch_of(*keys), "KEY", identify)
    made = plan(elements, lambda wanted: window.find(wanted, 1))
    kept = b"".join(element.encoded for element in made.kept)
    offsets = [10_000 + 100 * number for number in range(len(made.kept))]
    stored = StoredBatch(offsets, 40, 10_000 + 100 * len(offsets), 1) if offsets else None
    told = results(made, stored, 2)

    alone: list[str] = []
    places: dict[str, str] = {}
    for number, key in enumerate(keys):
        if key in stored_before:
            alone.append(f"old-{key}")
        elif key in places:
            alone.append(places[key])
        else:
            alone.append(f"id-{number}")
            if key is not None:
                places[key] = f"id-{number}"
    assert [first.unique_key for first in told] == alone
    new = [number for number in range(len(keys)) if alone[number] == f"id-{number}"]
    assert [(flag, bytes(body)) for flag, body, _ in decode_batch(kept)] == [
        (number, f"body-{number}".encode()) for number in new
    ]
    for place, number in enumerate(new):
        assert told[number] == First(10_000 + 100 * place, 100, 2, 40 + place, 1, f"id-{number}")


def test_properties_are_added_to_messages_with_a_key_only() -> None:
    elements = read_elements(batch_of("a", None), "KEY", identify, "GROUP\x01shop\x02")
    texts = [str(raw, "utf-8") for e in elements for _, _, raw in decode_batch(e.encoded)]
    assert texts == ["UNIQ_KEY\x01id-0\x02KEY\x01a\x02GROUP\x01shop\x02", "UNIQ_KEY\x01id-1\x02"]


def test_properties_that_do_not_end_as_they_should_are_kept_apart_from_what_is_added() -> None:
    (element,) = read_elements(encode_element(b"x", b"KEY\x01a"), "KEY", identify, "GROUP\x01shop\x02")
    assert element.identity == identify("a")
    assert element.encoded == encode_element(b"x", b"KEY\x01a\x02GROUP\x01shop\x02")


def test_a_broken_batch_is_said_to_be_broken() -> None:
    with pytest.raises(BodyError, match="message 1 of the batch"):
        read_elements(batch_of("a", "b")[:-3], "KEY", identify)


def test_a_row_is_one_queue_and_offsets_without_a_gap() -> None:
    row = [First(number * 10, 10, 1, 7 + number, 0) for number in range(3)]
    assert in_one_row(row)
    assert not in_one_row([row[0], row[2]])
    assert not in_one_row([row[0], row[1]._replace(queue_id=2)])
    assert not in_one_row([row[1], row[0]])
