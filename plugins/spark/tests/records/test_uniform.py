import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from mqframe_spark.records.uniform import UniformPairs


def text(pairs: dict[str, str]) -> str:
    return "".join(f"{name}\x01{value}\x02" for name, value in pairs.items())


def uniform(*texts: str) -> UniformPairs | None:
    return UniformPairs.of(pa.array([one.encode() for one in texts], pa.binary()))


letters = st.text("abcdefgh", min_size=1, max_size=4)
shapes = st.dictionaries(letters, st.integers(1, 5), min_size=1, max_size=4)


@given(shapes, st.integers(1, 70), st.data())
def test_texts_of_one_shape_are_read_as_columns(shape, rows, data) -> None:
    """More rows than are looked at as one, too."""
    table = [
        {name: data.draw(st.text("xyz", min_size=n, max_size=n)) for name, n in shape.items()}
        for _ in range(min(rows, 3))
    ]
    table = [table[number % len(table)] for number in range(rows)]
    found = uniform(*map(text, table))
    assert found is not None
    assert found.maps().to_pylist() == [list(row.items()) for row in table]
    for name in shape:
        assert found.column(name).to_pylist() == [row[name] for row in table]
    assert found.column("nobody").to_pylist() == [None] * rows


def test_what_is_not_of_one_shape_is_left_to_others() -> None:
    assert uniform() is None
    assert uniform("", "") is None
    assert uniform(text({"a": "1"}), text({"a": "12"})) is None  # widths
    assert uniform(text({"a": "1"}), text({"b": "1"})) is None  # names
    assert uniform(text({"a": "12", "b": "1"}), text({"a": "1", "b": "12"})) is None  # places
    assert uniform(text({"a": "1"}) * 2) is None  # a name twice
    assert uniform("a\x01ü\x02") is None  # more than ASCII


def test_what_brokers_do_not_write_so_is_left_to_others() -> None:
    assert uniform("a\x011") is None  # its end is missing
    assert uniform("a\x02b\x01") is None  # ends in the wrong order
    assert uniform("\x01b\x02") is None  # no name
    assert uniform("a\x01\x02") is None  # no value
