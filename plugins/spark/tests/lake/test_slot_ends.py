import json

import pytest
from mqframe_spark.lake.landing import Slot
from mqframe_spark.lake.slot_ends import SlotEnds

from mqframe.core.errors import GiveUpError

ORDERS = [Slot("orders", "2026-01-01"), Slot("orders", "2026-01-02")]


def test_what_was_saved_is_loaded(tmp_path) -> None:
    ends = SlotEnds(tmp_path / "ends")
    assert ends.load() == {}
    table = {ORDERS[0]: 10, ORDERS[1]: 20, Slot("bills", ""): 30}
    ends.save(table, 0)
    assert SlotEnds(tmp_path / "ends").load() == table
    ends.save({ORDERS[1]: 40}, 0)
    assert ends.load() == {ORDERS[1]: 40}


def test_what_the_log_has_lost_is_not_kept(tmp_path) -> None:
    ends = SlotEnds(tmp_path / "ends")
    ends.save({ORDERS[0]: 10, ORDERS[1]: 11}, 10)
    assert ends.load() == {ORDERS[1]: 11}
    assert json.loads((tmp_path / "ends").read_text()) == {"orders": {"2026-01-02": 11}}


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"orders": 5}', b'{"orders": {"day": "x"}}'])
def test_a_broken_file_is_named(tmp_path, content) -> None:
    (tmp_path / "ends").write_bytes(content)
    with pytest.raises(GiveUpError, match=r"ends does not tell what was published"):
        SlotEnds(tmp_path / "ends").load()
