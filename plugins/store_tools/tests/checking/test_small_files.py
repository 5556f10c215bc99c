"""Checkpoint, note and tables: what cannot be true of this log and these queues is told."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import small_store
from mqframe_store_tools.checking.findings import Findings
from mqframe_store_tools.checking.small_files import check_checkpoint, check_note, check_tables, known_topics

from mqframe.store.files.config_file import ConfigFile
from mqframe.store.files.layout import Layout

ENDS = {("t", 0): 30, ("t", 1): 30, ("SCHEDULE_TOPIC_XXXX", 2): 5}


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    small_store.fill(tmp_path / "store")
    return Layout(tmp_path / "store")


def told(layout: Layout) -> Findings:
    return Findings(layout.root, killed=False)


def test_a_checkpoint_of_the_future_or_of_no_store(layout: Layout) -> None:
    findings = told(layout)
    check_checkpoint(layout, 1_700_000_059_000, findings)
    assert findings.listed == []
    check_checkpoint(layout, 1_600_000_000_000, findings)
    assert [each.offset for each in findings.listed] == [0, 8]
    layout.checkpoint.write_bytes(bytes(10))
    check_checkpoint(layout, 0, findings)
    layout.checkpoint.unlink()
    check_checkpoint(layout, 0, findings)
    assert findings.listed[2:][0].found == "10 bytes"
    assert findings.total == 3


def test_a_log_that_ends_before_what_was_noted(layout: Layout) -> None:
    findings = told(layout)
    noted = check_note(layout, 10_000, findings)
    assert noted is not None
    (one,) = findings.listed
    assert (one.file, one.offset) == (f"commitlog/{8192:020d}", 1808)


def test_a_note_that_is_broken(layout: Layout) -> None:
    layout.queue_ends.write_bytes(b"MQE2none")
    findings = told(layout)
    assert check_note(layout, 1 << 30, findings) is None
    assert [each.file for each in findings.listed] == ["queue-ends"]


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        ("consumerOffset.json", '{"offsetTable":{"t@g":{0:31}}}', "group g at offset 31 of queue 0 of t"),
        ("consumerOffset.json", '{"offsetTable":{"gone@g":{0:1}}}', "group g at offset 1 of queue 0 of gone"),
        (
            "delayOffset.json",
            '{"offsetTable":{3:6}}',
            "delay level 3 at offset 6 of queue 2 of SCHEDULE_TOPIC_XXXX",
        ),
        ("topics.json", '{"topicConfigTable":', "no table: "),
        ("topics.json", "", "an empty file"),
    ],
)
def test_tables(layout: Layout, name: str, content: str, found: str) -> None:
    findings = told(layout)
    check_tables(layout, ENDS, findings)
    assert findings.listed == []
    (layout.config / name).write_text(content)
    check_tables(layout, ENDS, findings)
    (one,) = findings.listed
    assert one.file == f"config/{name}"
    assert one.found.startswith(found)


def test_a_table_of_which_only_the_copy_is_left(layout: Layout) -> None:
    (layout.config / "consumerOffset.json").rename(layout.config / "consumerOffset.json.bak")
    findings = told(layout)
    check_tables(layout, ENDS, findings)
    assert "no file" in findings.listed[0].found


def test_topics(layout: Layout) -> None:
    assert known_topics(layout) is None
    (layout.config / "topics.json").write_text('{"topicConfigTable":{"a":{"topicName":"a"}}}')
    assert known_topics(layout) == {"a"}


@pytest.mark.parametrize("name", ["consumerOffset.json", "consumerOffset.json.bak"])
def test_a_table_that_differs_from_its_checksum(layout: Layout, name: str) -> None:
    file = ConfigFile(layout.config / "consumerOffset.json")
    for offset in (21, 22):
        file.save(b'{"offsetTable":{"t@g":{0:%d}}}' % offset)
    findings = told(layout)
    check_tables(layout, ENDS, findings)
    assert findings.listed == []
    path = layout.config / name
    found = path.stat()
    path.write_bytes(path.read_bytes().replace(b":2", b":1"))
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))
    check_tables(layout, ENDS, findings)
    (one,) = findings.listed
    assert (one.file, one.found) == (f"config/{name}", "bytes that differ from their checksum")
