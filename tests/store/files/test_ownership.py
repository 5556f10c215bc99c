"""One owner at a time, and the mark of an unclean end."""

from __future__ import annotations

import pytest
from stores import put
from trust.seam import Seam

from mqframe.core.errors import StoreError
from mqframe.store.files.layout import Layout
from mqframe.store.files.ownership import Ownership


def test_a_second_store_is_refused(opened, message, tmp_path):
    store = opened()
    with pytest.raises(
        StoreError, match=r"is in use by another broker .*stop that one, or give this one a dir"
    ):
        opened()
    assert (tmp_path / "store/lock").read_text() == "lock"
    put(store, message())
    store.abandon()
    assert opened().queues.max_offset("t", 0) == 1


def test_an_end_without_unmark_is_an_unclean_one(tmp_path) -> None:
    layout = Layout(tmp_path / "store")
    owner = Ownership(layout)
    assert not owner.was_killed
    owner.mark()
    owner.release()
    again = Ownership(layout)
    assert again.was_killed
    again.mark()
    again.unmark()
    again.release()
    last = Ownership(layout)
    assert not last.was_killed
    last.release()


@pytest.mark.parametrize("call", ["open", "pwrite"])
def test_a_folder_that_cannot_be_used_is_told_in_words(tmp_path, call: str) -> None:
    tried, broken = [], [True]

    def before(name: str, path: str) -> None:
        if broken[0] and name == call and path == "/lock":
            tried.append(path)
            raise OSError(24, "Too many open files")

    layout = Layout(tmp_path)
    with Seam(tmp_path, before=before).in_force():
        with pytest.raises(StoreError, match=r"cannot be used: .*Too many open files"):
            Ownership(layout)
        broken[0] = False
        Ownership(layout).release()
    assert tried == ["/lock"]
