"""Rows of files as events."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_cli.quickstart.events import Columns, guess, open_source, read_rows

from mqframe.core.errors import FixError

CSV = "city,code,temp,when\nOslo,00501,-3.5,2013-01-01\nRoma,00502,NA,2013-01-02\nOslo,00503,4,2013-01-03\n"


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_cells_become_numbers_text_and_none(tmp_path: Path) -> None:
    rows = list(read_rows(written(tmp_path / "weather.csv", CSV)))
    assert rows[0] == {"city": "Oslo", "code": "00501", "temp": -3.5, "when": "2013-01-01"}
    assert [row["temp"] for row in rows] == [-3.5, None, 4]


def test_json_lines(tmp_path: Path) -> None:
    path = written(
        tmp_path / "weather.jsonl", '{"city": "Oslo", "temp": 1}\n\n{"city": "Roma", "temp": null}\n'
    )
    assert list(read_rows(path)) == [{"city": "Oslo", "temp": 1}, {"city": "Roma", "temp": None}]


def test_a_zipped_file_is_the_same(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "weather.csv.zip", "w") as archive:
        archive.writestr("weather.csv", CSV)
    plain = written(tmp_path / "weather.csv", CSV)
    assert list(read_rows(tmp_path / "weather.csv.zip")) == list(read_rows(plain))


def test_events_carry_tag_key_sharding_key_body_and_value(tmp_path: Path) -> None:
    source = open_source(written(tmp_path / "my weather.csv", CSV), tag="city", key="code", value="temp")
    assert source.topic == "my_weather"
    first, second, third = source.events()
    assert (first.tag, first.key, first.sharding_key, first.value) == ("Oslo", "00501", "Oslo", -3.5)
    assert json.loads(first.body) == {"city": "Oslo", "code": "00501", "temp": -3.5, "when": "2013-01-01"}
    assert second.value is None
    assert third.value == 4.0


def test_what_is_not_said_is_guessed(tmp_path: Path) -> None:
    source = open_source(written(tmp_path / "weather.csv", CSV))
    assert source.columns == Columns(tag="city", key="code", sharding="city", value="temp")


def test_given_columns_are_kept() -> None:
    sample: list[dict[str, Any]] = [{"a": "x", "b": 1, "c": 2}, {"a": "y", "b": 3, "c": 4}]
    assert guess(sample, Columns("b", "c", "a", "")) == Columns("b", "c", "a", "")
    assert guess(sample, Columns("", "", "", "b")) == Columns("a", "a", "a", "b")


def test_blanks_in_tags_and_keys_are_replaced(tmp_path: Path) -> None:
    path = written(tmp_path / "x.csv", "tag,key,n\nNew York,a b|c,1\n,,2\n")
    first, second = open_source(path, tag="tag", key="key", value="n").events()
    assert (first.tag, first.key) == ("New_York", "a_b_c")
    assert (second.tag, second.key) == ("none", "none")


def test_the_flights_are_all_there() -> None:
    source = open_source(None)
    assert (source.topic, source.columns) == ("flights", Columns("carrier", "flight", "tailnum", "dep_delay"))
    first = next(source.events())
    assert (first.tag, first.key, first.sharding_key, first.value) == ("UA", "1545", "N14228", 2.0)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("x.csv", "", "no rows"),
        ("x.csv", "a,b\n", "no rows"),
        ("x.csv", "a,b\n1,2\n3\n", "line 3: 1 cells for 2 columns"),
        ("x.jsonl", '{"a": 1}\n[1]\n', "line 2 is not a JSON object"),
        ("x.csv.zip", "no archive", "cannot be read"),
    ],
)
def test_a_bad_file_is_named_with_the_place(tmp_path: Path, name: str, text: str, said: str) -> None:
    with pytest.raises(FixError, match=said):
        open_source(written(tmp_path / name, text))


def test_a_missing_file_and_a_missing_column_are_named(tmp_path: Path) -> None:
    with pytest.raises(FixError, match=r"nowhere\.csv cannot be read"):
        open_source(tmp_path / "nowhere.csv")
    with pytest.raises(FixError, match="no column 'town'; its columns: city, code, temp, when"):
        open_source(written(tmp_path / "weather.csv", CSV), tag="town")


@given(
    st.lists(
        st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\x00")), min_size=2, max_size=2)
    )
)
def test_any_text_survives_as_it_is_or_as_a_number(tmp_path_factory: Any, cells: list[list[str]]) -> None:
    text = io.StringIO()
    csv.writer(text).writerows([["first", "second"], *cells])
    path = tmp_path_factory.mktemp("rows") / "rows.csv"
    path.write_text(text.getvalue(), encoding="utf-8", newline="")
    for row, given_row in zip(read_rows(path), cells, strict=True):
        for value, cell in zip(row.values(), given_row, strict=True):
            if isinstance(value, str):
                assert value == cell
            elif value is None:
                assert cell in ("", "NA")
            else:
                assert value == float(cell)
