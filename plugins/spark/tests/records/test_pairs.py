import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_spark.records.pairs import Pairs
from mqframe_spark.records.uniform import UniformPairs

from mqframe.core.messages.properties import decode_properties, encode_properties

NAMES = ("TAGS", "KEYS", "a", "b", "é", "")
written = st.lists(
    st.tuples(st.sampled_from(NAMES[:-1]), st.text("xyz€", min_size=1, max_size=3)), max_size=4
)
texts = st.one_of(
    written.map(lambda pairs: "".join(f"{name}\x01{value}\x02" for name, value in pairs)),
    st.lists(st.text(st.sampled_from("abTAGS€\x01\x02"), max_size=4)).map("".join),
)


def arrow(told: list[str]) -> pa.Array:
    return pa.array([text.encode() for text in told], pa.binary())


def same(pairs: Pairs | UniformPairs, told: list[str]) -> None:
    wanted = [decode_properties(text) for text in told]
    maps = pairs.maps()
    maps.validate(full=True)
    assert [dict(row) for row in maps.to_pylist()] == wanted
    assert all(len(row) == len(dict(row)) for row in maps.to_pylist())
    for name in ("TAGS", "a", "é", "nope"):
        column = pairs.column(name)
        column.validate(full=True)
        assert column.to_pylist() == [row.get(name) for row in wanted]


@given(st.lists(texts, max_size=6))
def test_all_texts_are_read_as_every_reader_reads_them(told) -> None:
    same(Pairs(arrow(told)), told)


@given(st.lists(st.text("ab", min_size=1, max_size=19), min_size=1, max_size=4), st.data())
def test_names_that_stand_in_one_order_are_read_alike_and_so_are_those_of_one_that_differs(
    names, data
) -> None:
    """Names of all lengths; most records have the same ones, and values of any length."""
    values = st.text("xyz€", min_size=1, max_size=5)
    rows = [[(name, data.draw(values)) for name in names] for _ in range(data.draw(st.integers(1, 5)))]
    if data.draw(st.booleans()):
        other = data.draw(st.sampled_from([*names, names[0] + "a", names[-1][:-1] + "b"]))
        rows[data.draw(st.integers(0, len(rows) - 1))][-1] = (other, "other")
    told = ["".join(f"{name}\x01{value}\x02" for name, value in row) for row in rows]
    pairs = Pairs(arrow(told))
    same(pairs, told)
    wanted = [decode_properties(text) for text in told]
    for name in {*names, "a", "b"}:
        assert pairs.column(name).to_pylist() == [row.get(name) for row in wanted]


@given(
    st.lists(st.tuples(st.sampled_from(NAMES), st.integers(0, 3)), max_size=4), st.integers(1, 5), st.data()
)
def test_texts_of_one_shape_are_read_alike(shape, rows, data) -> None:
    letters = data.draw(st.sampled_from(["xyz", "x\x01\x02y"]))
    told = [
        "".join(
            f"{name}\x01{data.draw(st.text(letters, min_size=size, max_size=size))}\x02"
            for name, size in shape
        )
        for _ in range(rows)
    ]
    found = UniformPairs.of(arrow(told))
    if found is not None:
        same(found, told)


def test_ordinary_texts_of_one_shape_are_seen_as_such() -> None:
    told = [encode_properties({"UNIQ_KEY": f"{n:08d}", "TAGS": "t"}) for n in range(100)]
    assert UniformPairs.of(arrow(told)) is not None
    assert UniformPairs.of(arrow([*told, encode_properties({"UNIQ_KEY": "1"})])) is None


@pytest.mark.parametrize("names", [3, 100])
def test_of_two_values_the_last_counts_however_many_names_there_are(names) -> None:
    told = ["".join(f"n{n % names}\x01{n}\x02" for n in range(2 * names)), "n1\x01x\x02"]
    same(Pairs(arrow(told)), told)


def test_bytes_that_are_no_text_are_replaced() -> None:
    assert Pairs(pa.array([b"a\x01\xff\x02"], pa.binary())).maps().to_pylist() == [[("a", "\ufffd")]]


def test_a_text_that_ends_with_a_name_is_read_alone() -> None:
    told = ["a\x01b\x02c\x01", "d\x02e\x01f\x02"]
    same(Pairs(arrow(told)), told)


def test_nothing_at_all() -> None:
    same(Pairs(arrow([])), [])
    same(Pairs(arrow(["", ""])), ["", ""])
