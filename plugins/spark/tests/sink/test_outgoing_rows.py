"""The rows of one Arrow batch as messages: what each becomes, and which are refused."""

from typing import Any

import pyarrow as pa
import pytest
from mqframe_spark.sink.key_bytes import UniqueKeys
from mqframe_spark.sink.options import SinkOptions
from mqframe_spark.sink.outgoing_rows import OutgoingRows

from mqframe.core.errors import MessageError
from mqframe.core.messages import properties as p
from mqframe.core.messages.batch import ELEMENT_OVERHEAD_BYTES
from mqframe.core.messages.java_hash import java_hash
from mqframe.core.messages.message import Message
from mqframe.core.sending.encoding import decode_elements, encode_elements

MAP = pa.map_(pa.string(), pa.string())
ORDERS = SinkOptions("ns:1", topic="orders")


def simple(count: int, **columns: Any) -> pa.RecordBatch:
    """Rows with a body, and columns of values or Arrow arrays."""
    body = pa.array([b"body %d" % number for number in range(count)])
    arrays = {
        name: value if isinstance(value, pa.Array) else pa.array(value) for name, value in columns.items()
    }
    return pa.record_batch({"body": body, **arrays})


def rows_of(
    batch: pa.RecordBatch,
    options: SinkOptions = ORDERS,
    first: int = 0,
    *,
    idempotence: str = "",
    where: str = "",
) -> OutgoingRows:
    keys = UniqueKeys("127.0.0.1@1", now_ms=lambda: 1_700_000_000_000, salt=7)
    return OutgoingRows(batch, options, first, keys=keys, idempotence=idempotence, where=where)


def messages_of(rows: OutgoingRows) -> list[Message]:
    """The messages that the elements stand for, if all are for the first topic."""
    joined = b"".join(element.as_py() for element in rows.elements())
    messages, unique = decode_elements(rows.topics[0], joined)
    assert encode_elements(messages, unique) == joined, "a producer would write something else"
    assert len(set(unique)) == len(messages)
    return messages


def test_a_row_becomes_what_a_producer_makes_of_the_message() -> None:
    batch = simple(
        2,
        tags=["paid", None],
        keys=pa.array([["a", "b"], None]),
        properties=pa.array([[("n", "1"), ("ü", "漢")], None], MAP),
        flag=pa.array([-7, None], pa.int32()),
        idempotence_key=[None, "mine"],
    )
    assert messages_of(rows_of(batch)) == [
        Message("orders", b"body 0", "paid", ["a", "b"], {"n": "1", "ü": "漢"}, -7),
        Message("orders", b"body 1", None, [], {"IDEMPOTENCE_KEY": "mine"}),
    ]


def test_one_row_by_itself_is_the_same_as_in_a_batch() -> None:
    rows = rows_of(simple(3, tags=["a", None, "c"], flag=pa.array([0, 5, 6], pa.int16())))
    body, text, flag = rows.message(2)
    found = p.decode_properties(text)
    assert (body, found.pop(p.UNIQUE_KEY)[:8], found, flag) == (b"body 2", "7F000001", {p.TAGS: "c"}, 6)
    assert [each.flag for each in messages_of(rows)] == [0, 5, 6]


def test_idempotence_keys_are_numbered_by_row_where_nobody_gave_one() -> None:
    batch = simple(3, idempotence_key=[None, "mine", None])
    made = [each.properties for each in messages_of(rows_of(batch, first=40, idempotence="q-1-"))]
    assert [each["IDEMPOTENCE_KEY"] for each in made] == ["q-1-40", "mine", "q-1-42"]


def test_an_old_idempotence_key_gives_way_to_a_new_one() -> None:
    batch = simple(1, properties=pa.array([[("IDEMPOTENCE_KEY", "old"), ("a", "b")]], MAP))
    for prefix, key in (("", "old"), ("new-", "new-0")):
        [message] = messages_of(rows_of(batch, idempotence=prefix))
        assert message.properties == {"IDEMPOTENCE_KEY": key, "a": "b"}


def test_what_belongs_to_the_system_is_left_out_when_asked() -> None:
    pairs = pa.array([[("UNIQ_KEY", "X"), ("mine", "1"), ("TAGS", "t")], None, [("WAIT", "true")]], MAP)
    batch = simple(3, properties=pairs)
    with pytest.raises(MessageError, match="row 0: column properties: 'UNIQ_KEY' belongs to the system"):
        rows_of(batch).elements()
    lax = SinkOptions("ns:1", topic="orders", ignore_columns=True)
    assert [each.properties for each in messages_of(rows_of(batch, lax))] == [{"mine": "1"}, {}, {}]


def test_rows_name_their_topics_unless_the_option_does() -> None:
    batch = simple(4, topic=["paid", "open", "paid", "open"])
    rows = rows_of(batch, SinkOptions("ns:1"))
    assert rows.topics == ["paid", "open"]
    assert rows.topic_of.tolist() == [0, 1, 0, 1]
    rows = rows_of(batch)
    assert (rows.topics, rows.topic_of.tolist()) == (["orders"], [0, 0, 0, 0])


def test_sharding_keys_are_hashed_as_java_does() -> None:
    texts = ["customer-7", None, "", "ü漢", "polygenelubricants"]
    codes, has_one = rows_of(simple(5, sharding_key=texts)).shards()
    assert has_one.tolist() == [True, False, True, True, True]
    assert java_hash("polygenelubricants") == -(2**31)
    wanted = [abs(java_hash(text)) for text in texts if text is not None]
    assert codes[has_one].tolist() == wanted
    codes, has_one = rows_of(simple(2)).shards()
    assert (codes.tolist(), has_one.tolist()) == ([0, 0], [False, False])


def test_rows_travel_alone_that_are_large_or_delayed() -> None:
    bodies = pa.array([b"x" * size for size in (1, 99, 100, 101)])
    batch = pa.record_batch({"value": bodies, "delay_seconds": pa.array([0.5, None, 0.0, None])})
    options = SinkOptions("ns:1", topic="orders", compress_over_bytes=100)
    assert rows_of(batch, options).alone.tolist() == [True, False, True, True]
    narrow = SinkOptions(
        "ns:1", topic="orders", compress_over_bytes=1 << 20, batch_bytes=100 + ELEMENT_OVERHEAD_BYTES
    )
    assert rows_of(batch, narrow).alone.tolist() == [True, False, True, True]
    # Half messages hold whatever there is.
    exact = SinkOptions("ns:1", topic="orders", compress_over_bytes=100, exactly_once=True)
    assert rows_of(batch, exact).alone.tolist() == [True, False, False, False]


def test_each_column_of_delays_has_its_option_of_a_send() -> None:
    moment = pa.array([None, None, 1_700_000_000_000_001, None, None], pa.timestamp("us", tz="UTC"))
    rows = rows_of(
        simple(
            5,
            delay_seconds=[1.5, 0.0, None, None, None],
            delay_level=[None, None, None, 3, 0],
            deliver_at=moment,
        )
    )
    # A message never comes before its moment: part of a millisecond counts as a whole one.
    assert [rows.delay(row) for row in range(5)] == [
        {"delay": 1.5}, {}, {"deliver_at": 1_700_000_000_001}, {"delay_level": 3}, {},
    ]  # fmt: skip
    assert rows.alone.tolist() == [True, False, True, True, False]
    assert rows_of(simple(1)).delay(0) == {}


def test_only_one_column_may_say_when() -> None:
    batch = simple(2, delay_seconds=[1.0, 2.0], delay_level=[0, 1])
    with pytest.raises(MessageError, match="row 1: columns delay_seconds, delay_level: only one"):
        rows_of(batch)


ROW_2 = [
    ("body", [b"a", b"b", None], "column body is null; a message must have a body"),
    ("body", [b"a", b"b", b""], "column body is empty; a message must have a body"),
    ("topic", ["orders", "orders", None], "column topic is null"),
    ("topic", ["orders", "orders", "bad topic!"], "column topic = 'bad topic!'"),
    ("topic", ["orders", "orders", "%RETRY%g"], "cannot go in a batch"),
    ("tags", ["a", "b", "c\x01"], "column tags holds a character 1 or 2"),
    (
        "keys",
        [["a"], None, ["ok", "has space"]],
        "column keys holds a key that is null, empty or has a space",
    ),
    ("keys", [["a"], [], ["ok", None]], "column keys holds a key"),
    ("keys", [["a"], [], ["", "ok"]], "column keys holds a key"),
    ("keys", ["a", "b", "c\x02d"], "column keys holds a character 1 or 2"),
    ("idempotence_key", ["a", "b", "\x02"], "column idempotence_key holds"),
    ("delay_seconds", [1.0, 0.0, -1.0], "column delay_seconds = -1.0: must be 0 or more"),
    ("delay_seconds", [1.0, 0.0, float("nan")], "column delay_seconds = nan"),
    ("delay_seconds", [1.0, 0.0, 1e16], "column delay_seconds = 1e+16"),
    ("delay_level", [1, 0, -1], "column delay_level = -1"),
]


@pytest.mark.parametrize(("name", "values", "said"), ROW_2)
def test_bad_rows_are_named(name: str, values: list[Any], said: str) -> None:
    options = SinkOptions("ns:1", topic="" if name == "topic" else "orders")
    batch = pa.record_batch({"body": pa.array([b"x"] * 3), name: pa.array(values)})
    with pytest.raises(MessageError) as problem:
        rows_of(batch, options, 1, where="partition 4").elements()
    assert str(problem.value).startswith("partition 4, row 3: ")
    assert said in str(problem.value)


def test_a_body_that_packing_may_make_short_enough_travels_alone_and_no_other_may_be_as_long() -> None:
    batch = pa.record_batch({"body": pa.array([b"a", b"x" * (4 * 1024 * 1024 + 1)])})
    assert rows_of(batch).alone.tolist() == [False, True]
    said = "row 1: the body of a message to orders has 4194305 bytes, 4194304 are allowed"
    for options in (
        SinkOptions("ns:1", topic="orders", exactly_once=True),
        SinkOptions("ns:1", topic="orders", compress_over_bytes=5 * 1024 * 1024),
    ):
        with pytest.raises(MessageError, match=said):
            rows_of(batch, options)


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        ([("a", None)], "the value of b'a' is null or empty"),
        ([("a", "")], "the value of b'a' is null or empty"),
        ([("", "b")], "the name of b'' is null or empty"),
        ([("ok", "b"), ("a\x01", "b")], "the name of b'a\\x01' holds a character"),
        ([("ok", "b"), ("a", "\x02")], "the value of b'a' holds a character"),
        ([("a", "x" * 32760)], "the properties have 32"),
    ],
)
def test_bad_properties_are_named(pairs: list[Any], said: str) -> None:
    batch = simple(2, properties=pa.array([[("fine", "1")], pairs], MAP))
    with pytest.raises(MessageError) as problem:
        rows_of(batch).elements()
    assert str(problem.value).startswith("row 1: ")
    assert said in str(problem.value)
