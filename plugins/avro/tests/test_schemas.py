from __future__ import annotations

import json
from pathlib import Path

import pytest
from mqframe_avro.schemas import load, of_class

from mqframe.core.errors import FixError, SettingError

ORDER = {"type": "record", "name": "Order", "namespace": "shop", "fields": [{"name": "id", "type": "long"}]}


class Knows:
    __avro_schema__ = ORDER


class Tells:
    @classmethod
    def avro_schema(cls) -> str:
        return json.dumps(ORDER)


def test_all_sources_give_the_same(tmp_path: Path) -> None:
    path = tmp_path / "order.avsc"
    path.write_text(json.dumps(ORDER))
    found = [load(each) for each in (ORDER, json.dumps(ORDER), str(path), path, Knows, Tells)]
    assert {each.name for each in found} == {"shop.Order"}
    assert len({each.mark for each in found}) == 1
    assert of_class(Knows) == found[0]
    assert of_class(dict) is None
    assert of_class(list[int]) is None


def test_the_fingerprint_is_that_of_the_specification() -> None:
    # 0x63dd24e7cc258f8a, least significant byte first.
    assert load('"null"').mark.hex() == "8a8f25cce724dd63"


def test_documentation_does_not_change_it() -> None:
    assert load({**ORDER, "doc": "An order."}).mark == load(ORDER).mark
    assert load({**ORDER, "name": "Other"}).mark != load(ORDER).mark


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("nowhere.avsc", r"Avro schema nowhere\.avsc cannot be read"),
        ('{"type":"record"', "JSONDecodeError"),
        ('{"type":"nonsense","name":"x"}', "Avro schema"),
        ("json:nothing", "cannot be found"),
        ("nowhere_at_all:x", "cannot be found"),
        (7, "cannot be a int"),
        (dict, "has no Avro schema; it needs one of __avro_schema__"),
    ],
)
def test_what_is_no_schema_is_told(source, words) -> None:
    with pytest.raises(SettingError, match=words):
        load(source)


def test_a_class_with_a_broken_schema_is_told() -> None:
    class Broken:
        __avro_schema__ = "{"

    with pytest.raises(FixError, match=r"the Avro schema of .*Broken"):
        of_class(Broken)
