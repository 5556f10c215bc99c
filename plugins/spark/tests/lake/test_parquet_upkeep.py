"""Small Parquet files are put together: whoever lists the folders, at any moment, finds each message once."""

import os
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from lake_log import Log, Written, stored
from mqframe_spark.lake import parquet_upkeep
from mqframe_spark.lake.day_folders import tidying
from mqframe_spark.lake.parquet_upkeep import ParquetUpkeep
from mqframe_spark.lake.upkeep import Crowd, UpkeepBusy

from mqframe.core.errors import GiveUpError

DAYS = "2023-11-14", "2023-11-15", "2023-11-16"


@pytest.fixture
def crowded(tmp_path, store) -> Log:
    """Ten messages a day of one topic, each in a file of its own."""
    log = Log(store)
    for n in range(20):
        log.add("orders", day=n // 10)
    Written(tmp_path, log, roll_rows=1).take(0, 20)
    return log


WANTED = {"orders/day=2023-11-14": [*range(10)], "orders/day=2023-11-15": [*range(10, 20)]}


def upkeep(root, target_bytes=1 << 30) -> ParquetUpkeep:
    return ParquetUpkeep(root / "parquet", target_bytes, "zstd")


def files(root, day=DAYS[0]) -> list[str]:
    return sorted(path.name for path in root.glob(f"parquet/orders/day={day}/*"))


def test_crowds_are_told_by_day(tmp_path, crowded) -> None:
    found = upkeep(tmp_path).crowds(DAYS[1], 11)
    assert [(each.topic, each.day, each.files) for each in found] == [("orders", DAYS[0], 10)]
    sizes = [path.stat().st_size for path in tmp_path.glob("parquet/orders/day=2023-11-14/*")]
    assert found[0].size_bytes == sum(sizes)
    assert [each.day for each in upkeep(tmp_path).crowds(DAYS[1], 10)] == [*DAYS[:2]]
    assert upkeep(tmp_path, 2 * min(sizes)).crowds(DAYS[2], 2) == []


def test_one_file_takes_the_place_of_all_with_the_same_rows_and_columns(tmp_path, crowded) -> None:
    before = pq.read_table(tmp_path / "parquet/orders").sort_by("queue_offset")
    for crowd in upkeep(tmp_path).crowds(DAYS[2], 2):
        assert upkeep(tmp_path).merge(crowd) == 9
        assert upkeep(tmp_path).merge(crowd) == 0
    assert stored(tmp_path) == WANTED
    [name] = files(tmp_path)
    assert name.endswith(f"-{crowded.ends[0]:020d}-{crowded.ends[10]:020d}.parquet")
    after = pq.read_table(tmp_path / "parquet/orders").sort_by("queue_offset")
    assert after.equals(before)
    told = pq.read_schema(tmp_path / "parquet/orders/day=2023-11-14" / name).metadata
    assert told[b"mqframe.end"] == str(crowded.ends[10]).encode()
    assert not (tmp_path / "parquet" / ".upkeep").exists()
    assert upkeep(tmp_path).crowds(DAYS[2], 2) == []
    # What is published is known, and what comes afterwards is taken in.
    crowded.add("orders", day=1)
    assert Written(tmp_path, crowded, roll_rows=1).take(0, 21) == crowded.ends[21]
    assert stored(tmp_path)["orders/day=2023-11-15"] == [*range(10, 21)]


def test_files_become_no_larger_than_is_aimed_at(tmp_path, crowded) -> None:
    one = max(path.stat().st_size for path in tmp_path.glob("parquet/orders/*/*.parquet"))
    care = upkeep(tmp_path, 3 * one)
    for crowd in care.crowds(DAYS[2], 2):
        while care.merge(crowd):
            pass
    assert len(files(tmp_path)) < 6
    assert stored(tmp_path) == WANTED


def test_files_of_other_stores_and_of_users_stay(tmp_path, crowded) -> None:
    Written(tmp_path / "other", crowded, path=tmp_path / "parquet", roll_rows=1).take(0, 3)
    folder = tmp_path / "parquet/orders/day=2023-11-14"
    (folder / "_notes").write_text("mine")
    (folder / ".half.parquet.tmp").write_text("left")
    assert len(files(tmp_path)) == 15
    for crowd in upkeep(tmp_path).crowds(DAYS[1], 99):
        while upkeep(tmp_path).merge(crowd):
            pass
    assert len(files(tmp_path)) == 3
    assert (folder / "_notes").read_text() == "mine"
    assert sorted(stored(tmp_path)["orders/day=2023-11-14"]) == sorted([*range(10), 0, 1, 2])


class Died(BaseException):
    pass


STEPS = ("mkdir", "write", "link", "sync_folder", "exchange", "rmtree")


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("step", STEPS)
def test_whenever_it_is_killed_readers_find_each_message_once(
    tmp_path, crowded, monkeypatch, step, late
) -> None:
    Written(tmp_path / "other", crowded, path=tmp_path / "parquet", roll_rows=1).take(0, 1)
    wanted = {**WANTED, "orders/day=2023-11-14": [0, *range(10)]}

    def dying(call):
        def called(*arguments, **options):
            assert {key: sorted(rows) for key, rows in stored(tmp_path).items()} == wanted
            if late:
                call(*arguments, **options)
                assert {key: sorted(rows) for key, rows in stored(tmp_path).items()} == wanted
            raise Died

        return called

    where = {
        "mkdir": (parquet_upkeep.Path, "mkdir"),
        "write": (parquet_upkeep.pq.ParquetWriter, "write_table"),
        "link": (os, "link"),
        "rmtree": (shutil, "rmtree"),
    }
    place, name = where.get(step, (parquet_upkeep, step))
    with monkeypatch.context() as broken:
        broken.setattr(place, name, dying(getattr(place, name)))
        with pytest.raises(Died):
            upkeep(tmp_path).merge(Crowd("orders", DAYS[0], 10, 0))
    assert {key: sorted(rows) for key, rows in stored(tmp_path).items()} == wanted
    # The next one clears up, and ends the work.
    for crowd in upkeep(tmp_path).crowds(DAYS[2], 2):
        while upkeep(tmp_path).merge(crowd):
            pass
    assert {key: sorted(rows) for key, rows in stored(tmp_path).items()} == wanted
    assert len(files(tmp_path)) == 2
    assert not (tmp_path / "parquet" / ".upkeep").exists()
    assert Written(tmp_path, crowded, roll_rows=1).take(0, 20) == crowded.ends[20]
    assert {key: sorted(rows) for key, rows in stored(tmp_path).items()} == wanted


def test_rows_that_a_user_deletes_meanwhile_do_not_come_back(tmp_path, crowded, monkeypatch) -> None:
    care = upkeep(tmp_path)
    write = care._write

    def deleting(*arguments):
        write(*arguments)
        (tmp_path / "parquet/orders/day=2023-11-14" / files(tmp_path)[0]).unlink()

    monkeypatch.setattr(care, "_write", deleting)
    assert care.merge(Crowd("orders", DAYS[0], 10, 0)) == 0
    assert stored(tmp_path)["orders/day=2023-11-14"] == [*range(1, 10)]
    assert upkeep(tmp_path).merge(Crowd("orders", DAYS[0], 9, 0)) == 8
    assert stored(tmp_path)["orders/day=2023-11-14"] == [*range(1, 10)]


def test_what_the_dispatcher_publishes_meanwhile_stays(tmp_path, crowded, monkeypatch) -> None:
    crowded.add("orders", day=0)
    care = upkeep(tmp_path)
    write = care._write

    def publishing(*arguments):
        write(*arguments)
        Written(tmp_path, crowded, roll_rows=1).take(20, 21)

    monkeypatch.setattr(care, "_write", publishing)
    assert care.merge(Crowd("orders", DAYS[0], 10, 0)) == 9
    assert stored(tmp_path)["orders/day=2023-11-14"] == [*range(10), 20]


def test_files_with_other_columns_and_damaged_ones_are_left_alone(tmp_path, crowded) -> None:
    folder = tmp_path / "parquet/orders/day=2023-11-14"
    odd = folder / files(tmp_path)[4]
    rows = pq.ParquetFile(odd).read()
    pq.write_table(rows.append_column("more", pa.array([1])), odd)
    assert upkeep(tmp_path).merge(Crowd("orders", DAYS[0], 10, 0)) == 3
    odd.write_bytes(b"PAR1 no more")
    with pytest.raises(GiveUpError, match=f"{odd.name} is damaged"):
        upkeep(tmp_path).merge(Crowd("orders", DAYS[0], 7, 0))
    assert len(files(tmp_path)) == 7


def test_only_one_is_at_work_and_what_is_gone_is_no_harm(tmp_path, crowded) -> None:
    crowd = Crowd("orders", DAYS[0], 10, 0)
    with tidying(tmp_path / "parquet"), pytest.raises(UpkeepBusy):
        upkeep(tmp_path).merge(crowd)
    shutil.rmtree(tmp_path / "parquet/orders")
    assert upkeep(tmp_path).merge(crowd) == 0


def test_what_killed_processes_left_goes(tmp_path, crowded) -> None:
    folder = tmp_path / "parquet/orders/day=2023-11-14"
    exchanged = tmp_path / "parquet/.upkeep/orders/day=2023-11-14/x.parquet"
    exchanged.parent.mkdir(parents=True)
    for path in (exchanged, folder / ".old.parquet.tmp", folder / ".new.parquet.tmp"):
        path.write_bytes(b"x")
    os.utime(folder / ".old.parquet.tmp", (0, 0))
    gone = sorted(map(str, (exchanged, folder / ".old.parquet.tmp")))
    assert upkeep(tmp_path).vacuum(1, dry_run=True) == gone
    assert exchanged.exists()
    assert upkeep(tmp_path).vacuum(1, dry_run=False) == gone
    assert upkeep(tmp_path).vacuum(1, dry_run=False) == []
    assert (folder / ".new.parquet.tmp").exists()
    assert stored(tmp_path) == WANTED
