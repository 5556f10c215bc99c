"""plain_acl.yml: what it may say, and that a wrong one changes nothing."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_acl.networks import caller_address
from mqframe_acl.plain_file import PlainFile, plain_of

from mqframe.core.errors import SettingError
from mqframe.core.requests.needs import Action
from mqframe.testing.manual_clock import ManualClock

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
    plain = plain_of(SAMPLE)
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
        ("", "no table with accounts"),
        ("accounts: 7", "accounts is no list"),
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
        plain_of(text)
    assert "s3cretkey" not in str(caught.value)


@given(st.text(max_size=200))
def test_any_text_is_taken_or_refused(text: str) -> None:
    for whole in (text, f"accounts:\n  - {text}"):
        with contextlib.suppress(ValueError, RecursionError):
            plain_of(whole)


def write(path: Path, text: str) -> None:
    fresh = path.with_suffix(".new")
    fresh.write_text(text)
    os.replace(fresh, path)


def test_a_replaced_file_counts_when_its_time_has_come(tmp_path: Path) -> None:
    path, clock = tmp_path / "plain_acl.yml", ManualClock()
    write(path, SAMPLE)
    file = PlainFile(path, clock, 5.0)
    first = file.current
    write(path, SAMPLE.replace("rocketmq2", "rocketmq3"))
    clock.advance(4.9)
    assert file.current is first
    clock.advance(0.2)
    assert set(file.current.accounts) == {"RocketMQ", "rocketmq3"}


def test_a_wrong_or_missing_file_leaves_the_former_in_force(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, clock = tmp_path / "plain_acl.yml", ManualClock()
    write(path, SAMPLE)
    file = PlainFile(path, clock, 5.0)
    first = file.current
    for _ in range(3):
        path.unlink(missing_ok=True)
        clock.advance(6)
        assert file.current is first
    write(path, "accounts: [")
    for _ in range(3):
        clock.advance(6)
        assert file.current is first
    assert len([each for each in caplog.records if "stay in force" in each.getMessage()]) == 2
    write(path, "accounts: []")
    clock.advance(6)
    assert file.current.accounts == {}


def test_a_server_does_not_start_without_it(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="cannot be read: No such file"):
        PlainFile(tmp_path / "none.yml", ManualClock(), 5.0)
    (tmp_path / "huge.yml").write_bytes(b"#" * (5 << 20))
    with pytest.raises(SettingError, match="has more than"):
        PlainFile(tmp_path / "huge.yml", ManualClock(), 5.0)
