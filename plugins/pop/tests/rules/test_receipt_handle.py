import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_pop.rules.receipt_handle import (
    HandleError,
    ReceiptHandle,
    message_offsets_text,
    offset_count_text,
    parse_message_offsets,
    parse_order_counts,
    parse_start_offsets,
    queue_text,
    real_topic,
    retry_mark,
)

RECORDED = "0 1795248761121 30000 0 0 broker-v 0 1"


def test_a_recorded_handle_is_taken_apart_and_written_again():
    handle = ReceiptHandle.parse(RECORDED)
    assert handle == ReceiptHandle(0, 1795248761121, 30000, 0, "0", "broker-v", 0, 1)
    assert (handle.text, handle.ordered, handle.visible_at) == (RECORDED, False, 1795248791121)


def test_the_offset_may_be_left_out():
    handle = ReceiptHandle.parse("5 10 20 999 1 b 3")
    assert (handle.offset, handle.text, handle.ordered) == (-1, "5 10 20 999 1 b 3", True)
    assert handle.real_topic("t", "g") == "%RETRY%g_t"


@given(
    st.builds(
        ReceiptHandle,
        st.integers(0, 2**62), st.integers(0, 2**62), st.integers(0, 2**62), st.integers(0, 999),
        st.sampled_from("012"), st.text("abc-_", min_size=1, max_size=5), st.integers(0, 99),
        st.integers(0, 2**62),
    )
)  # fmt: skip
def test_handles_survive(handle: ReceiptHandle):
    assert ReceiptHandle.parse(handle.text) == handle


@pytest.mark.parametrize(
    "text",
    ["", "x", "1 2 3", "a 2 3 4 0 b 5 6", "1 2 3 4 0 b 5 6 7", "1 2 3 4 7 b 5 6", "1 2 3 4 0 b five 6"],
)
def test_what_is_no_handle_is_named(text: str):
    with pytest.raises(HandleError, match=f"receipt handle '{text}'"):
        ReceiptHandle.parse(text)


def test_retry_topics_of_both_forms_are_told_apart():
    first, second = "%RETRY%g_t", "%RETRY%g+t"
    assert [retry_mark(topic) for topic in ("t", first, second)] == ["0", "1", "2"]
    assert [real_topic("t", "g", mark) for mark in "012"] == ["t", first, second]
    with pytest.raises(HandleError, match="mark '3'"):
        real_topic("t", "g", "3")


def test_the_texts_of_an_answer_are_read_back():
    starts = ";".join([queue_text("0", 0, 5), queue_text("1", 0, 7)])
    assert starts == "0 0 5;1 0 7"
    assert parse_start_offsets(starts) == {("0", 0): 5, ("1", 0): 7}
    offsets = ";".join([message_offsets_text("0", 0, [5, 6, 9]), message_offsets_text("2", 1, [7])])
    assert offsets == "0 0 5,6,9;2 1 7"
    assert parse_message_offsets(offsets) == {("0", 0): [5, 6, 9], ("2", 1): [7]}
    counts = ";".join([offset_count_text("0", 1, 5, 2), queue_text("0", 1, 0)])
    assert counts == "0 qo1%5 2;0 1 0"
    assert parse_order_counts(counts) == ({("0", 1): 0}, {("0", 1, 5): 2})


@pytest.mark.parametrize("parse", [parse_start_offsets, parse_message_offsets, parse_order_counts])
def test_texts_that_are_none_are_refused(parse):
    assert not any(parse(None))
    assert not any(parse(""))
    for text in ("0 0", "0 0 1;0 0 2", "0 x 1", "0 0 x", "0 0 1 2"):
        with pytest.raises(HandleError, match="pop answer"):
            parse(text)
