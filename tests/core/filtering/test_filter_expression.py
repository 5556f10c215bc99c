"""What an application writes where a reader chooses messages."""

from __future__ import annotations

import pytest

from mqframe.core.consuming.pull import pull_request, read_answer
from mqframe.core.errors import FixError
from mqframe.core.filtering.bodies import SubscriptionData
from mqframe.core.filtering.filter_expression import SQL_VERSION, Sql, SqlFilter, check_version, filter_of
from mqframe.core.filtering.tag_filter import TagFilter
from mqframe.core.messages.addresses import encode_host
from mqframe.core.messages.message import MessageQueue
from mqframe.core.storage.record import encode_record
from mqframe.core.wire.frame import Frame

QUEUE = MessageQueue("orders", "b", 0)


def test_text_names_tags_and_sql_an_expression():
    tags = filter_of("a || b")
    assert isinstance(tags, TagFilter)
    assert (tags.tags, tags.expression_type) == (("a", "b"), "TAG")
    assert filter_of(None).expression == filter_of().expression == "*"
    chosen = filter_of(Sql("a > 1"))
    assert isinstance(chosen, SqlFilter)
    assert (chosen.expression, chosen.expression_type) == ("a > 1", "SQL92")


def test_heartbeats_carry_the_expression_and_its_type():
    assert filter_of(Sql("a > 1")).subscription("orders", 17) == SubscriptionData(
        topic="orders", expression_type="SQL92", sub_string="a > 1", sub_version=17
    )


@pytest.mark.parametrize("text", ["", "  ", None, 5])
def test_an_expression_that_says_nothing(text):
    with pytest.raises(FixError, match="not empty"):
        Sql(text)


def test_neither_text_nor_expression():
    with pytest.raises(FixError, match="is a int"):
        filter_of(5)


def test_expressions_are_values():
    assert Sql("a") == Sql("a") != Sql("b")
    assert Sql("a") != "a"
    assert len({Sql("a"), Sql("a")}) == 1
    assert repr(Sql("a > 1")) == "Sql('a > 1')"


def test_pulls_name_the_type_of_their_expression():
    assert pull_request("g", QUEUE, 0, expression="a > 1", expression_type="SQL92").expression_type == "SQL92"
    assert pull_request("g", QUEUE, 0).expression_type == "TAG"


def test_a_broker_that_knows_no_expressions_is_refused():
    check_version(filter_of("a"), 0, "b:1")
    check_version(filter_of(Sql("a > 1")), SQL_VERSION, "b:1")
    with pytest.raises(FixError, match=r"b:1 of protocol version 231 cannot filter by SQL92"):
        check_version(filter_of(Sql("a > 1")), SQL_VERSION - 1, "b:1")


def test_what_the_broker_chose_is_taken_as_it_is():
    host = encode_host("127.0.0.1:1")
    record = encode_record(
        topic="orders", queue_id=0, queue_offset=3, physical_offset=0, body=b"x", properties=b"TAGS\x01a\x02",
        born_timestamp=1, born_host=host, store_timestamp=1, store_host=host,
    )  # fmt: skip
    ext = {"suggestWhichBrokerId": "0", "nextBeginOffset": "4", "minOffset": "0", "maxOffset": "4"}
    answer = Frame(0, flag=1, ext=ext, body=record, version=SQL_VERSION)
    result = read_answer(answer, QUEUE, filter_of(Sql("TAGS = 'a'")), "b:1")
    assert [message.queue_offset for message in result.messages] == [3]
    with pytest.raises(FixError, match="cannot filter"):
        read_answer(Frame(0, flag=1, ext=ext, body=record, version=60), QUEUE, filter_of(Sql("a")), "b:1")


def test_an_expression_that_cannot_be_encoded() -> None:
    for make in (lambda: filter_of("a || \udc80"), lambda: Sql("a = '\ud800'")):
        with pytest.raises(FixError, match="cannot be encoded"):
            make()


@pytest.mark.parametrize(
    "text",
    [
        "amount > 100 AND region = 'north'",
        "amount>100",
        "amount <> -3",
        "region='north'",
        "a = b",
        "region IS NOT NULL",
        "amount between 1 and 3",
        "region IN ('a', 'b')",
        "not (a) and b",
    ],
)
def test_sql_as_text_is_refused_with_what_to_write(text):
    with pytest.raises(FixError) as caught:
        filter_of(text)
    assert str(caught.value) == f"expression {text!r} looks like SQL; write Sql({text!r})"


@pytest.mark.parametrize(
    "text", ["a", "a||b", "a || b", "v=1", "in-time", "is", "NOT", "a b", "a->b", "<new>", "x>y"]
)
def test_what_may_be_a_tag_is_one(text):
    assert filter_of(text).expression == text


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["a"], "is a list, not a text or Sql(...); write 'a'"),
        (("a", "b"), "is a tuple, not a text or Sql(...); write 'a || b'"),
        (5, "is a int, not a text or Sql(...)"),
    ],
)
def test_what_is_no_text_is_refused_with_what_to_write(given, said):
    with pytest.raises(FixError) as caught:
        filter_of(given)
    assert str(caught.value).endswith(said)
