"""Key-value configuration: in memory, and over restarts where there is a folder."""

from __future__ import annotations

import json

from mqframe.nameserver.kv_config import KvConfig


def test_values_have_a_namespace():
    kv = KvConfig(None)
    kv.put("a", "key", "1")
    kv.put("b", "key", "2")
    assert (kv.get("a", "key"), kv.get("b", "key"), kv.get("a", "other")) == ("1", "2", None)
    assert kv.namespace("a") == {"key": "1"}
    assert kv.namespace("never used") is None


def test_a_namespace_outlives_its_values():
    kv = KvConfig(None)
    kv.put("a", "key", "1")
    kv.delete("a", "key")
    kv.delete("a", "key")
    assert (kv.get("a", "key"), kv.namespace("a")) == (None, {})
    kv.delete("never used", "key")
    assert kv.namespace("never used") is None


def test_it_is_written_through_and_read_back(tmp_path):
    kv = KvConfig(tmp_path)
    kv.put("a", "key", "über")
    kv.put("a", "gone", "x")
    kv.delete("a", "gone")
    assert json.loads((tmp_path / "kvConfig.json").read_bytes()) == {"configTable": {"a": {"key": "über"}}}
    again = KvConfig(tmp_path)
    assert again.namespace("a") is None, "nothing is there before it is loaded"
    again.load()
    assert again.namespace("a") == {"key": "über"}


def test_a_damaged_file_falls_back_to_the_version_before(tmp_path):
    kv = KvConfig(tmp_path)
    kv.put("a", "key", "1")
    kv.put("a", "key", "2")
    (tmp_path / "kvConfig.json").write_bytes(b"{")
    again = KvConfig(tmp_path)
    again.load()
    assert again.get("a", "key") == "1"


def test_without_a_file_it_begins_empty(tmp_path):
    kv = KvConfig(tmp_path)
    kv.load()
    assert kv.namespace("a") is None
