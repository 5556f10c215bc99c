import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_grpc.proto import messages as m
from mqframe_grpc.rules.codes import Rejected
from mqframe_grpc.rules.handles import UNKNOWN_OFFSET, DoorHandle
from mqframe_pop.rules.receipt_handle import ReceiptHandle

RECORDED = "0 1795248761121 30000 0 0 broker-a 1 7 4200161"
PLACE = ReceiptHandle(0, 1795248761121, 30000, 0, "0", "broker-a", 1, 7)

numbers = st.integers(0, 10**18 - 1)
handles = st.builds(
    DoorHandle,
    st.builds(
        ReceiptHandle,
        numbers, numbers, numbers, st.integers(0, 999), st.sampled_from("012"),
        st.text(min_size=1).filter(lambda name: " " not in name), st.integers(0, 10**9 - 1), numbers,
    ),
    st.one_of(st.just(UNKNOWN_OFFSET), numbers),
)  # fmt: skip


def test_nine_words_are_taken_apart_and_written_again() -> None:
    handle = DoorHandle.parse(RECORDED)
    assert handle == DoorHandle(PLACE, 4200161)
    assert handle.text == RECORDED
    assert handle.handle.text == RECORDED.removesuffix(" 4200161")


@pytest.mark.parametrize(
    ("text", "log_offset", "written"),
    [
        (RECORDED.removesuffix(" 4200161"), UNKNOWN_OFFSET, RECORDED.removesuffix(" 4200161")),
        (RECORDED.replace("4200161", "-1"), UNKNOWN_OFFSET, RECORDED.removesuffix(" 4200161")),
        (RECORDED.replace("4200161", "0 4200161"), 0, RECORDED.replace("4200161", "0")),
        (RECORDED + " ", 4200161, RECORDED),
        (RECORDED + " more words\nof whomever", 4200161, RECORDED),
    ],
)
def test_fewer_and_more_words(text: str, log_offset: int, written: str) -> None:
    handle = DoorHandle.parse(text)
    assert handle == DoorHandle(PLACE, log_offset)
    assert handle.text == written


@given(handles)
def test_handles_survive(handle: DoorHandle) -> None:
    assert DoorHandle.parse(handle.text) == handle


@pytest.mark.parametrize(
    "text",
    [
        "",
        "rubbish",
        "0 1 30000 0 0 broker-a 1",
        "0 1 30000 0 3 broker-a 1 7",
        "0 1 30000 0 0  1 7",
        "0 1 30000 0 0 broker a 1 7",
        " " + RECORDED,
        RECORDED.replace("30000", "-30000"),
        RECORDED.replace("30000", "3_0"),
        RECORDED.replace("30000", "٣"),
        RECORDED.replace("30000", "9" * 19),
        RECORDED.replace("4200161", "-2"),
        RECORDED.replace("4200161", "x"),
        RECORDED.replace("broker-a 1 7", "broker-a 9999999999 7"),
        RECORDED + "\n",
    ],
)
def test_rubbish_is_refused(text: str) -> None:
    with pytest.raises(Rejected) as caught:
        DoorHandle.parse(text)
    assert caught.value.code is m.Code.INVALID_RECEIPT_HANDLE
    assert repr(text[:120]) in caught.value.text


@given(
    st.one_of(
        st.text(),
        st.lists(st.one_of(st.text(max_size=3), st.integers().map(str)), min_size=6, max_size=11).map(
            " ".join
        ),
    )
)
def test_any_text_is_a_handle_or_refused(text: str) -> None:
    try:
        handle = DoorHandle.parse(text)
    except Rejected as problem:
        refused = problem
    else:
        assert DoorHandle.parse(handle.text) == handle
        return
    assert refused.code is m.Code.INVALID_RECEIPT_HANDLE
    assert len(refused.text) < 2000


@given(handles, numbers, numbers)
def test_a_change_keeps_what_the_message_is(handle: DoorHandle, pop_time: int, invisible_time: int) -> None:
    changed = handle.changed(pop_time, invisible_time, 3)
    assert changed.log_offset == handle.log_offset
    assert changed.handle == handle.handle._replace(
        start_offset=handle.handle.offset, pop_time=pop_time, invisible_time=invisible_time, revive_queue=3
    )


def test_expired_handles_are_refused_from_the_millisecond_on_that_shows_the_message() -> None:
    handle = DoorHandle(PLACE, 1)
    handle.check_current(1795248791120)
    with pytest.raises(Rejected, match="receipt handle is expired") as caught:
        handle.check_current(1795248791121)
    assert caught.value.code is m.Code.INVALID_RECEIPT_HANDLE


def test_only_nine_words_say_where_the_record_lies() -> None:
    DoorHandle(PLACE, 0).check_log_offset()
    with pytest.raises(Rejected, match="ninth word") as caught:
        DoorHandle(PLACE).check_log_offset()
    assert caught.value.code is m.Code.INVALID_RECEIPT_HANDLE
