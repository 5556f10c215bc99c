"""Which kind of schema somebody's file, class or text is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from message_types import files, message_class
from mqframe_schemas.formats.chosen import format_called, format_of, source_named
from pydantic import BaseModel

from mqframe.core.errors import FixError

RECORD = {"type": "record", "name": "A", "fields": []}
FILES = files({"id": (1, "int64")})


class Model(BaseModel):
    id: int


class Recorded:
    __avro_schema__ = RECORD


class Plain:
    pass


@pytest.mark.parametrize(
    ("source", "name"),
    [
        (Model, "json"),
        ({"type": "object"}, "json"),
        (True, "json"),
        ('{"$ref": "#/$defs/A"}', "json"),
        (b'\n{"type": "object"}', "json"),
        (Recorded, "avro"),
        (RECORD, "avro"),
        (json.dumps(RECORD).encode(), "avro"),
        ('["null", "int"]', "avro"),
        (message_class(FILES), "protobuf"),
        (FILES.SerializeToString(), "protobuf"),
    ],
)
def test_kinds_are_found_by_themselves(source: Any, name: str) -> None:
    assert format_of(source).name == name


@pytest.mark.parametrize(
    ("source", "problem"),
    [(Plain, "class Plain has no schema: it is no model of pydantic"), ("{", "the schema is no JSON")],
)
def test_what_is_of_no_kind_is_told(source: Any, problem: str) -> None:
    with pytest.raises(FixError, match=problem):
        format_of(source)


def test_kinds_have_names() -> None:
    assert format_called("avro").name == "avro"
    with pytest.raises(FixError, match="no kind of schemas 'xml'; kinds: json, avro, protobuf"):
        format_called("xml")


def test_files_and_classes_are_found_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "order.avsc").write_text(json.dumps(RECORD))
    (tmp_path / "shop_of_this_test.py").write_text("class Order:\n    __avro_schema__ = '\"int\"'\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", ["/nowhere"])
    assert source_named("order.avsc") == json.dumps(RECORD).encode()
    assert source_named("shop_of_this_test:Order").__avro_schema__ == '"int"'
    for name in ("none.json", "shop_of_this_test:None", "no_such_module:Order"):
        with pytest.raises(FixError, match=name):
            source_named(name)
