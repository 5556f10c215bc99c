"""Which sends the native layout takes, and which it leaves to Python."""

from __future__ import annotations

import struct
from typing import Any

import msgspec
import pytest
from mqframe_speedups import _native as native

from mqframe.core.codes import SysFlag
from mqframe.core.errors import FrameError
from mqframe.core.wire.frame import FrameDecoder, HeaderForm, encode_frame

NEEDED = """producerGroup topic defaultTopic defaultTopicQueueNums queueId sysFlag bornTimestamp flag
    properties""".split()


@pytest.mark.parametrize("code", [10, 310])
@pytest.mark.parametrize("form", list(HeaderForm))
@pytest.mark.parametrize(
    ("name", "value"),
    [
        *((name, None) for name in NEEDED),
        ("queueId", "-1"),
        ("queueId", "4"),
        ("queueId", "+1"),
        ("queueId", "01"),
        ("queueId", "-0"),
        ("queueId", " 1"),
        ("queueId", ""),
        ("flag", "2147483648"),
        ("defaultTopicQueueNums", "x"),
        ("maxReconsumeTimes", "1.0"),
        ("bornTimestamp", "1000000000000000000"),
        ("sysFlag", "4"),
        ("sysFlag", "8"),
        ("unitMode", "true"),
        ("batch", "true"),
        ("batch", "0"),
        ("properties", ""),
        ("properties", "a\x01b\x02"),
        ("properties", "a\x01UNIQ_KEY\x01K\x02"),
        ("properties", "UNIQ_KEY\x01K\x02UNIQ_KEY\x01\x02"),
        ("properties", 'UNIQ_KEY\x01K"\x02'),
        ("properties", "UNIQ_KEY\x01Kä\x02"),
        ("properties", "UNIQ_KEY\x01K\x02TAGS\x01\x02"),
        ("properties", "UNIQ_KEY\x01K\x02MYKEYS\x01k\x02"),
        ("properties", "UNIQ_KEY\x01K\x02CLUSTER\x01c\x02"),
        ("properties", "UNIQ_KEY\x01K\x02a\x01DELAY"),
        ("properties", "UNIQ_KEY\x01K\x02a\x01" + "b" * 3000 + "\x02"),
    ],
)
def test_what_is_not_ordinary_is_left(
    reference: Any, code: int, form: HeaderForm, name: str, value: str | None
) -> None:
    """Fields that are missing, or odd in any way, stop before the frame that has them."""
    good = encode_frame(reference.send(code, form=form))
    odd = encode_frame(reference.send(code, form=form, **{name: value}))
    assert reference.lay(odd + good) is None
    laid = reference.lay(good + odd + good)
    assert (laid.count, laid.stopped, laid.unknown) == (1, len(good), None)
    reference.check(good, laid)


@pytest.mark.parametrize("form", list(HeaderForm))
def test_other_requests_are_left(reference: Any, form: HeaderForm) -> None:
    """Other codes, answers, bodies that are empty or too large, frames that are not whole."""
    good = reference.send(form=form)
    raw = encode_frame(good)
    for change in (
        {"code": 330},
        {"flag": 1},
        {"flag": 3},
        {"remark": "x"},
        {"body": b""},
        {"ext": {}},
        {"ext": None},
    ):
        assert reference.lay(encode_frame(msgspec.structs.replace(good, **change))) is None, change
    assert (
        reference.lay(encode_frame(reference.send(form=form, body=b"x" * (reference.body_max + 1)))) is None
    )
    assert reference.lay(encode_frame(reference.send(form=form, body=b"x" * reference.body_max))).count == 1
    for size in range(len(raw)):
        assert reference.lay(raw[:size]) is None
    assert reference.lay(raw, start=len(raw)) is None
    assert reference.lay(raw, start=len(raw) + 5) is None


def test_frames_that_the_decoder_refuses_are_left(reference: Any) -> None:
    """Lengths are bounded as in the decoder."""
    raw = encode_frame(reference.send())
    header = len(reference.header_of(reference.send()))
    for limits, taken in (
        ({"frame_bytes_max": len(raw)}, True),
        ({"frame_bytes_max": len(raw) - 1}, False),
        ({"header_bytes_max": header}, True),
        ({"header_bytes_max": header - 1}, False),
    ):
        decoder = FrameDecoder(
            *(limits.get(name, (1 << 20)) for name in ("frame_bytes_max", "header_bytes_max"))
        )
        decoder.receive(raw)
        assert (reference.lay(raw, reference.layout(**limits)) is not None) is taken
        if not taken:
            with pytest.raises(FrameError):
                decoder.next_frame()
    for word in (b"\xff\xff\xff\xff", b"\0\0\0\x03"):
        assert reference.lay(word + raw[4:]) is None
    assert reference.lay(raw[:4] + b"\x02" + raw[5:]) is None
    assert reference.lay(raw[:5] + b"\xff\xff\xff" + raw[8:]) is None


def test_unknown_topics_are_named(reference: Any) -> None:
    """But only where nothing else speaks against the frame, so that admitting the topic helps."""
    made, good, other = (
        reference.layout(),
        encode_frame(reference.send()),
        encode_frame(reference.send(topic="öther")),
    )
    laid = reference.lay(good + other, made)
    assert (laid.count, laid.stopped, laid.unknown) == (1, len(good), "öther")
    laid = reference.lay(other, made)
    assert (laid.count, laid.stopped, laid.unknown, laid.records) == (0, 0, "öther", b"")
    assert (laid.answers, laid.runs, laid.puts, laid.kinds, laid.end) == (b"", [], [], [], reference.log.end)
    assert reference.lay(encode_frame(reference.send(topic="other", queueId="-1")), made) is None
    assert not made.knows("öther")
    made.admit("öther", 1, 0)
    assert made.knows("öther")
    assert reference.lay(other, made).puts[0][:3] == ("öther", False, 1)
    made.forget()
    assert not made.knows("t")
    assert reference.lay(good, made).unknown == "t"


def test_admitting_again_changes_a_topic(reference: Any) -> None:
    """Its queues and its bits are the new ones; transaction bits are left to Python."""
    made, raw = reference.layout(), encode_frame(reference.send(queueId="3"))
    made.admit("t", 3, 0)
    assert reference.lay(raw, made) is None
    made.admit("t", 4, SysFlag.TRANSACTION_PREPARED)
    assert reference.lay(raw, made) is None
    made.admit("t", 4, 0)
    assert reference.lay(raw, made).count == 1


def test_records_end_where_the_room_ends(reference: Any) -> None:
    """A record that does not fit is left, and its queue is not asked for."""
    raw = encode_frame(reference.send())
    size = len(reference.lay(raw).records)
    assert reference.lay(raw * 3, room=2 * size).count == 2
    assert reference.lay(raw * 3, room=2 * size - 1).count == 1
    assert reference.lay(raw, room=size - 1) is None
    assert reference.lay(raw, room=-1) is None


@pytest.mark.parametrize(
    ("values", "at_once", "count"),
    [("ttff", False, 2), ("fftt", True, 2), ("ff", True, 2), ("tf-", False, 1), ("-tf", False, 2)],
)
def test_answers_that_wait_are_laid_out_without_those_that_do_not(
    values: str, at_once: bool, count: int, reference: Any
) -> None:
    """By a word in the properties of each; `-`: neither."""
    texts = {"t": "WAIT\x01true\x02", "f": "WAIT\x01false\x02", "-": ""}
    frames = [encode_frame(reference.send(properties=texts[each] + reference.properties)) for each in values]
    made, data = reference.layout(at_once=[b"WAIT\x01false"]), b"".join(frames)
    laid = reference.lay(data, made)
    assert (laid.at_once, laid.count, laid.stopped) == (at_once, count, sum(map(len, frames[:count])))
    reference.check(data, laid)
    if rest := data[laid.stopped :]:
        assert reference.lay(rest, made).at_once is not at_once
    assert reference.lay(data).at_once is False
    assert reference.lay(data).count == len(values), "where nobody waits all are alike"


def test_queues_are_asked_for_once(reference: Any) -> None:
    """By the topic object that was admitted; none stops before the frame; what is raised comes out."""
    asked: list[Any] = []
    topic = "".join(["topic-of-", "its-own"])
    made = reference.layout()
    made.admit(topic, reference.queues, 0)

    class Queue:
        next_offset = 41

    def queue_of(place: tuple[str, int]) -> Any:
        asked.append(place)
        return None if place[1] == 2 else Queue()

    data = b"".join(encode_frame(reference.send(topic=topic, queueId=each)) for each in "0101021")
    laid = made.lay(data, 0, (reference.born, 0, (1 << 20), 1, reference.body_max, queue_of))
    assert asked == [(topic, 0), (topic, 1), (topic, 2)]
    assert all(place[0] is topic for place in asked)
    assert (laid.count, [run[2] for run in laid.runs]) == (5, [41, 41])
    assert [len(run[4]) for run in laid.runs] == [2, 3]
    assert all(put[0] is topic for put in laid.puts)
    with pytest.raises(ZeroDivisionError):
        made.lay(data, 0, (reference.born, 0, (1 << 20), 1, reference.body_max, lambda place: 1 / 0))
    with pytest.raises(AttributeError):
        made.lay(data, 0, (reference.born, 0, (1 << 20), 1, reference.body_max, lambda place: object()))


def test_wrong_arguments_are_refused(reference: Any) -> None:
    """Hosts are packed, bounds in order."""
    with pytest.raises(ValueError, match="host of 3 bytes"):
        reference.layout(store_host=b"abc")
    with pytest.raises(ValueError, match="host of 0 bytes"):
        reference.lay(encode_frame(reference.send()), born=b"")
    with pytest.raises(ValueError, match="not in order"):
        reference.layout(size_bounds=[2, 1])
    assert native.INTERFACE == 9


def test_words_of_any_length_are_looked_for(reference: Any) -> None:
    """Short words, long words, one that all texts contain."""
    raw = encode_frame(reference.send())
    for words, taken in (
        ([], True),
        ([b"k2"], False),
        ([b"k9", b"x"], False),
        ([b""], False),
        ([b"k9"], True),
    ):
        assert (reference.lay(raw, reference.layout(words=words)) is not None) is taken, words


def test_properties_fill_records_to_their_limit(reference: Any) -> None:
    """32,767 bytes with what the broker puts behind them."""
    rest = 32767 - len(reference.properties) - len(reference.suffix) - 3
    for more, taken in ((0, True), (1, False)):
        raw = encode_frame(
            reference.send(
                properties=reference.properties + "b\x01" + "ä" * 2 + "x" * (rest - 4 + more) + "\x02"
            )
        )
        laid = reference.lay(raw, reference.layout(text_max=40_000))
        assert (laid is not None) is taken
        if laid is not None:
            reference.check(raw, laid)


def test_keys_are_entered_as_the_pairs_that_they_are(reference: Any) -> None:
    """New entries of an index file take them without a list of Python in between."""
    laid = reference.lay(encode_frame(reference.send()) * 3)
    pairs, slots = laid.keys.pairs(), bytes(40 + 7 * 4)
    assert [offset for _, offset in pairs] == sorted(offset for _, offset in pairs)
    assert len(pairs) == 9
    for skip, most in ((0, 99), (2, 4), (8, 9), (9, 9), (20, 1)):
        by_keys, by_pairs = native.NewEntries(7), native.NewEntries(7)
        used = by_keys.add(laid.keys, skip, most, 1, 5, 6, slots, None)
        assert used == by_pairs.add(pairs, skip, most, 1, 5, 6, slots, None)
        assert by_keys.entries() == by_pairs.entries()
        found = [entry[:2] for entry in struct.iter_unpack(">iqii", by_keys.entries())]
        assert found == pairs[skip : skip + most]


def test_a_suffix_with_names_that_are_looked_for_leaves_all_to_python(reference: Any) -> None:
    """The broker's own properties stand last, and would be found first."""
    raw = encode_frame(reference.send())
    for name in ("UNIQ_KEY", "TAGS", "KEYS"):
        suffix = f"a\x01b\x02{name}\x01c\x02".encode()
        assert reference.lay(raw, reference.layout(suffix=suffix)) is None
