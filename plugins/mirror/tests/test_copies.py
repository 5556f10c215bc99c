"""Copies make batches that brokers take, in order."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st
from mirror_scenes import MirrorScene
from mqframe_mirror.copies import Copy, batches, copy_of

from mqframe import Message
from mqframe.core.messages.batch import decode_batch
from mqframe.core.messages.properties import decode_properties

COPIES = st.lists(st.tuples(st.integers(1, 60), st.booleans()), max_size=30)


def made(sizes: Iterable[tuple[int, bool]]) -> list[Copy]:
    return [
        Copy(at, b"" if alone else b"x" * size, Message("t", b"x" * size) if alone else None)
        for at, (size, alone) in enumerate(sizes)
    ]


@given(COPIES, st.integers(1, 8), st.integers(1, 100))
def test_batches_hold_all_in_order_and_no_more_than_they_may(
    sizes: list[tuple[int, bool]], count_max: int, bytes_max: int
) -> None:
    copies = made(sizes)
    found = list(batches(copies, count_max, bytes_max))
    assert [copy for batch in found for copy in batch] == copies
    for batch in found:
        assert len(batch) == 1 or all(copy.single is None for copy in batch)
        assert len(batch) <= count_max
        assert len(batch) == 1 or sum(copy.size for copy in batch) <= bytes_max


async def test_an_element_holds_body_flag_and_properties() -> None:
    async with MirrorScene({"orders": 1}) as scene:
        await scene.tokyo.send("orders", b"body", tag="t")
        [original] = scene.tokyo.stored("orders")
        original.broker_name = "broker-a"
        copy = copy_of(original, "tokyo", "orders")
        [(flag, body, properties)] = decode_batch(copy.element)
        assert (copy.offset, copy.single, flag, bytes(body)) == (0, None, 0, b"body")
        found = decode_properties(str(properties, "utf-8"))
        assert found == {
            "TAGS": "t",
            "UNIQ_KEY": original.message_id,
            "MQFRAME_MIRROR_SOURCE": f"tokyo/broker-a/0/0/{original.born_timestamp}",
            "MQFRAME_MIRROR_PATH": "tokyo",
        }
