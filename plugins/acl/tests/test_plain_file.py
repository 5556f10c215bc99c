"""plain_acl.yml: what it may say, and that a wrong one changes nothing."""

from __future__ import annotations

import contextlib
import re

import attrs
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from mqframe_acl.networks import caller_address
from mqframe_acl.plain_file import plain_of, table_of, text_of

from mqframe.core.requests.needs import Action

PUB, SUB = Action.PUB, Action.SUB
SAMPLE = """
globalWhiteRemoteAddresses:
  - 10.10.103.*
  - 192.168.0.{1,2}
accounts:
  - accessKey: RocketMQ
    secretKey: 12345678
    whiteRemoteAddress:
    admin: false
    defaultTopicPerm: DENY
    defaultGroupPerm: SUB
    topicPerms:
      - topicA=DENY
      - topicB=PUB|SUB
      - topicC=SUB
    groupPerms:
      - groupA=DENY
  - accessKey: rocketmq2
    secretKey: 012345678
    whiteRemoteAddress: 192.168.1.*
    admin: true
"""


def test_the_sample_of_rocketmq() -> None:
    plain = plain_of(table_of(SAMPLE))
    assert set(plain.accounts) == {"RocketMQ", "rocketmq2"}
    first, second = plain.accounts.values()
    assert (first.admin, second.admin) == (False, True)
    assert first.topics == {"topicA": set(), "topicB": {PUB, SUB}, "topicC": {SUB}}
    assert (first.default_topic, first.default_group, first.groups) == (set(), {SUB}, {"groupA": set()})
    assert caller_address("192.168.1.9:1") in second.white
    assert caller_address("192.168.1.9:1") not in first.white
    assert [caller_address("10.10.103.7:1") in each for each in plain.white] == [True, False]
    assert "12345678" not in repr(plain)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("accounts: [", "no YAML in line"),
        ("- a", "no table with accounts"),
        ("accounts: []\n---\naccounts: []", "more than one document"),
        ("accounts: *nobody", "an unknown alias"),
        ("? [accounts]\n: []", "a key that is no text"),
        ("accounts: 7", "accounts is no list"),
        ("a: " + "[" * 100_000, "nested too deeply"),
        ("#" * (5 << 20), "more than 4194304 characters"),
        ("accounts: [7]", "account 1 is no table"),
        ("accounts: [{accessKey: short, secretKey: s3cretkey}]", "account 1: accessKey and secretKey have 7"),
        ("accounts: [{accessKey: longenough}]", "account 1: accessKey and secretKey have 7"),
        (
            "accounts: [{accessKey: longenough, secretKey: s3cretkey, admn: true}]",
            "account 1: admn is none of",
        ),
        ("accounts: [{accessKey: longenough, secretKey: s3cretkey, admin: perhaps}]", "admin is neither"),
        ("accounts: [{accessKey: longenough, secretKey: s3cretkey, topicPerms: [a]}]", "is not name=DENY"),
        ("accounts: [{accessKey: longenough, secretKey: s3cretkey, topicPerms: [a=ALL]}]", "is none of DENY"),
        ("accounts: [{accessKey: longenough, secretKey: s3cretkey, whiteRemoteAddress: x.y}]", "account 1: "),
        ("globalWhiteRemoteAddresses: [{}]", "is no text"),
        (
            "accounts: [{accessKey: longenough, secretKey: s3cretkey}, "
            "{accessKey: longenough, secretKey: s3cretkey}]",
            "twice",
        ),
    ],
)
def test_what_is_wrong_is_named_without_a_secret(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)) as caught:
        plain_of(table_of(text))
    assert "s3cretkey" not in str(caught.value)


@given(st.text(max_size=200))
def test_any_text_is_taken_or_refused(text: str) -> None:
    for whole in (text, f"accounts:\n  - {text}"):
        with contextlib.suppress(ValueError):
            plain_of(table_of(whole))


def test_a_table_is_written_as_it_was_read() -> None:
    table = table_of(SAMPLE)
    table["dataVersion"] = [{"counter": 3, "timestamp": 1700000000000}]
    text = text_of(table)
    again = plain_of(table_of(text))
    assert again == attrs.evolve(plain_of(table_of(SAMPLE)), changes=3, changed_ms=1700000000000)
    # Texts that look like numbers are quoted: RocketMQ would read another one. The rest is plain.
    assert text.splitlines()[:9] == [
        "globalWhiteRemoteAddresses:",
        "- 10.10.103.*",
        "- 192.168.0.{1,2}",
        "accounts:",
        "- accessKey: RocketMQ",
        "  secretKey: '12345678'",
        "  whiteRemoteAddress: ''",
        "  admin: false",
        "  defaultTopicPerm: DENY",
    ]
    assert "  secretKey: '012345678'" in text
    assert text.endswith("dataVersion:\n- counter: 3\n  timestamp: 1700000000000\n")


@given(st.text(max_size=50), st.text(max_size=50))
@example("", "\x85")
@example("a\u2028b", "a \u2029")
def test_whatever_is_written_is_read_again(name: str, value: str) -> None:
    table = {"accounts": [{"accessKey": name, "secretKey": value}], name + "-": value}
    with contextlib.suppress(ValueError):
        assert table_of(text_of(table)) == table


@pytest.mark.parametrize("version", ["7", "[7]", "[{counter: x}]", "[{counter: []}]"])
def test_a_version_that_is_none(version: str) -> None:
    with pytest.raises(ValueError, match="dataVersion is no list"):
        plain_of(table_of(f"dataVersion: {version}"))


def test_an_alias_is_what_its_anchor_stands_at_and_scalars_are_texts() -> None:
    assert table_of("a: &some [1, yes, ~, {007: x}]\nb: [*some]") == {
        "a": ["1", "yes", "~", {"007": "x"}],
        "b": [["1", "yes", "~", {"007": "x"}]],
    }
    assert [table_of(each) for each in ("", "# none", "{}")] == [{}, {}, {}]
