"""What quotas may say, and how they are written in lines."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_quotas.rules.limits import (
    COUNTS,
    EVERYBODY,
    KINDS,
    LIMIT_MAX,
    Quota,
    problem_of,
    read_line,
    read_lines,
    text_of,
)

NAMES = st.text(st.characters(codec="utf-8", exclude_categories=("Z", "C")), min_size=1, max_size=40)


@st.composite
def quotas(draw: st.DrawFn) -> Quota:
    kind = draw(st.sampled_from(sorted(KINDS)))
    limits = draw(st.dictionaries(st.sampled_from(KINDS[kind]), st.integers(0, LIMIT_MAX)))
    return Quota(kind=kind, name=draw(NAMES.filter(lambda name: name.split() == [name])), **limits)


@given(quotas())
def test_a_line_says_all_of_a_quota(quota: Quota) -> None:
    assert problem_of(quota) == ""
    assert read_line(text_of(quota)) == quota


def test_a_line_reads_as_people_write_it() -> None:
    quota = read_line("address:2001:db8::1   send_messages=5 connections=2")
    assert quota == Quota(kind="address", name="2001:db8::1", send_messages=5, connections=2)
    assert quota.limits == {"send_messages": 5, "connections": 2}
    assert read_line("user:alice").limits == {}
    assert read_lines(["user:* send_bytes=1", "topic:orders read_bytes=2"]).keys() == {
        ("user", EVERYBODY),
        ("topic", "orders"),
    }


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("", "begins with no KIND:NAME"),
        ("alice send_bytes=1", 'write "user:alice send_messages=100"'),
        ("tenant:a send_bytes=1", "'tenant' is none of these"),
        ("user: send_bytes=1", "'' is no name of a quota"),
        ("user:a send_byte=1", "'send_byte=1' is not understood"),
        ("user:a send_bytes=1k", "'send_bytes=1k' is not understood"),
        ("user:a send_bytes=-1", "'send_bytes=-1' is not understood"),
        ("user:a send_bytes=1 send_bytes=2", "write each limit once"),
        ("topic:a connections=1", "connections cannot be limited by topic; these can: send_bytes,"),
        (f"user:a send_bytes={LIMIT_MAX + 1}", f"give a number from 1 to {LIMIT_MAX}"),
        (f"user:{'a' * 256} send_bytes=1", "give 1 to 255 characters"),
    ],
)
def test_what_is_wrong_is_said(line: str, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        read_line(line)


def test_two_lines_for_one_are_refused() -> None:
    with pytest.raises(ValueError, match="user:a has two lines; write one with all its limits"):
        read_lines(["user:a send_bytes=1", "user:a read_bytes=1"])


def test_topics_and_groups_have_no_counts() -> None:
    assert not set(COUNTS) & {*KINDS["topic"], *KINDS["group"]}
    assert problem_of(Quota(kind="group", name="g", send_bytes=-1)).startswith("send_bytes = -1: give")
