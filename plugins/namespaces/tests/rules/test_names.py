"""Names in a namespace, and out of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_namespaces.rules.names import (
    Names,
    check_namespace,
    is_of_brokers,
    is_wrapped,
    stripped,
    wrapped,
)

from mqframe.core.errors import SettingError

LETTERS = st.text("abAB01_-|", min_size=1, max_size=6)
NAMESPACES = LETTERS | st.sampled_from(["shop", "RETRY", "DLQ", "MQ_INST_1"])
OWN = ["TBW102", "RMQ_SYS_TRACE_TOPIC", "rmq_sys_x", "CID_RMQ_SYS_TRANS", "TOOLS_CONSUMER", "c_REPLY_TOPIC"]
PLAIN = st.builds(str.__add__, st.sampled_from(["", "%RETRY%", "%DLQ%"]), LETTERS)
NAMES = PLAIN | st.sampled_from(OWN) | st.text("%RETYDLQshopa_", max_size=12)


@pytest.mark.parametrize(
    ("plain", "within"),
    [
        ("orders", "shop%orders"),
        ("%RETRY%billing", "%RETRY%shop%billing"),
        ("%DLQ%billing", "%DLQ%shop%billing"),
        ("other%orders", "shop%other%orders"),
        *((name, name) for name in ("", *OWN, "CHECKPOINT_TOPIC", "CLIENT_INNER_PRODUCER")),
    ],
)
def test_names_are_as_those_of_java(plain: str, within: str) -> None:
    assert wrapped("shop", plain) == within
    assert stripped("shop", within) == plain
    assert stripped("shop1", within) == within


@pytest.mark.parametrize("name", ["shop%orders", "%RETRY%shop%billing", "%DLQ%shop%billing"])
def test_what_is_in_it_already_is_not_put_in_twice(name: str) -> None:
    assert wrapped("shop", name) == name


def test_a_topic_of_replies_that_java_has_put_in_comes_out() -> None:
    assert stripped("shop", "shop%DefaultCluster_REPLY_TOPIC") == "DefaultCluster_REPLY_TOPIC"


@given(NAMESPACES, NAMES)
def test_twice_is_as_once(namespace: str, name: str) -> None:
    once = wrapped(namespace, name)
    assert wrapped(namespace, once) == once
    assert is_wrapped(namespace, once) or once == name


@given(NAMESPACES, NAMES)
def test_what_goes_in_comes_out_as_it_was(namespace: str, name: str) -> None:
    if not is_wrapped(namespace, name) and not is_of_brokers(wrapped(namespace, name)):
        assert stripped(namespace, wrapped(namespace, name)) == name


@given(NAMESPACES, NAMESPACES, PLAIN)
def test_a_namespace_keeps_names_of_others_apart(one: str, other: str, name: str) -> None:
    within = wrapped(one, name)
    if one != other and not is_of_brokers(within):
        assert stripped(other, within) == within
        assert wrapped(other, name) != within


@given(NAMESPACES, LETTERS, LETTERS, st.sampled_from("_+"))
def test_retry_topics_of_pops_have_it_twice(namespace: str, group: str, topic: str, between: str) -> None:
    plain = f"%RETRY%{group}{between}{topic}"
    if is_of_brokers(plain) or is_of_brokers(group) or is_of_brokers(topic):
        return
    names = Names(namespace)
    within = names.wrapped_topic(plain, group)
    assert within == f"%RETRY%{namespace}%{group}{between}{namespace}%{topic}"
    assert names.stripped_topic(within) == plain


def test_other_topics_of_a_group_are_as_all_others() -> None:
    names = Names("shop")
    assert names.wrapped_topic("%RETRY%billing", "billing") == "%RETRY%shop%billing"
    assert names.wrapped_topic("orders", "billing") == names.wrapped_topic("orders", "") == "shop%orders"
    assert names.stripped_topic("orders") == "orders"
    assert names.stripped_topic("%RETRY%shop%billing") == "%RETRY%billing"


def test_what_a_client_names_within_it_has_that_name_for_the_client() -> None:
    names = Names("shop")
    assert names.stripped("shop%orders") == "orders"
    assert names.wrapped("shop%orders") == "shop%orders"
    assert names.stripped("shop%orders") == names.stripped_topic("shop%orders") == "shop%orders"
    assert names.stripped("shop%bills") == "bills"


@pytest.mark.parametrize("namespace", ["", "a%b", "a b", "größe", "a\n", "rmq_sys_a", "CID_RMQ_SYS_a"])
def test_a_namespace_that_cannot_be_is_refused_by_name(namespace: str) -> None:
    with pytest.raises(SettingError, match=r"client\.namespace = "):
        check_namespace(namespace)


@given(NAMESPACES)
def test_others_are_taken(namespace: str) -> None:
    check_namespace(namespace)
