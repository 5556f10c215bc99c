import pytest

from mqframe.core.errors import Refusal
from mqframe.core.filtering.bodies import SubscriptionData
from mqframe.core.filtering.subscription import Subscription, is_tag_type, matches_any, tag_codes
from mqframe.core.messages.java_hash import java_hash


@pytest.mark.parametrize("text", [None, "", "*"])
def test_nothing_and_a_star_mean_all(text):
    assert tag_codes(text) is None
    assert Subscription(SubscriptionData(topic="t", sub_string=text, code_set=[1])).codes is None


def test_tags_are_split_and_trimmed():
    assert tag_codes(" a ||b|| ") == {java_hash("a"), java_hash("b")}


@pytest.mark.parametrize("text", ["||", " ", " || || "])
def test_text_without_a_tag_is_refused_as_unparsable(text):
    with pytest.raises(Refusal) as caught:
        tag_codes(text)
    assert caught.value.code == 23


def test_the_codes_that_a_client_computed_are_taken():
    data = SubscriptionData(topic="t", sub_string="a", code_set=[7], sub_version=5)
    assert (Subscription(data).codes, Subscription(data).version) == ({7}, 5)
    assert Subscription(SubscriptionData(topic="t", sub_string="a")).codes == {java_hash("a")}


def test_only_tags_can_be_decided_by_hash():
    assert [is_tag_type(kind) for kind in (None, "", "TAG", "SQL92")] == [True, True, True, False]


@pytest.mark.parametrize("text", ["a > 1", " ", "||", None])
def test_an_expression_is_no_tag(text):
    data = SubscriptionData(topic="t", expression_type="SQL92", sub_string=text)
    assert (Subscription(data).codes, Subscription(data).is_tag) == (None, False)


def test_one_wanted_code_among_the_arrived_is_enough():
    assert matches_any(None, []) is True
    assert matches_any({1}, [0, 1]) is True
    assert matches_any({1}, [0, 2]) is False
