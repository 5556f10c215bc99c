"""Tables that fit a terminal."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from mqframe_cli.text.layout import CUT_MAX, Column, cell_width, table_lines

ID = "7F0000015CFC17BDB14D74D9A82E0002"


def test_what_fits_is_one_line_a_record() -> None:
    columns = [Column("topic"), Column("lag", number=True)]
    assert list(table_lines(columns, [["orders", "7"], ["o", "12000"]], 80)) == [
        "topic     lag",
        "orders      7",
        "o       12000",
    ]


def test_what_does_not_fit_goes_to_a_line_below_and_ids_stay_whole() -> None:
    columns = [Column("id"), Column("offset id"), Column("host"), Column("body", cut=True)]
    lines = list(table_lines(columns, [[ID, ID, "10.0.0.1:1234", "b" * 200]], 80))
    assert len(lines) == 4
    assert lines[2] == f"{ID}  {ID}"
    host, body = lines[3].split()
    assert host == "10.0.0.1:1234"
    assert body == "b" * (CUT_MAX - 1) + "…"
    assert all(cell_width(line) <= 80 for line in lines)


def test_a_body_is_cut_to_the_room_that_is_left() -> None:
    columns = [Column("id"), Column("body", cut=True)]
    *_, line = table_lines(columns, [[ID, "東京" * 40]], 60)
    assert line.startswith(f"{ID}  東京")
    assert line.endswith("…")
    assert cell_width(line) <= 60


@given(
    st.lists(st.lists(st.text(alphabet="ab東 ", max_size=70), min_size=4, max_size=4), min_size=1, max_size=5)
)
def test_no_line_is_wider_than_the_terminal_where_each_cell_fits(rows: list[list[str]]) -> None:
    columns = [Column("a"), Column("b", cut=True), Column("c", number=True), Column("d")]
    for line in table_lines(columns, rows, 142):
        assert cell_width(line) <= 142
