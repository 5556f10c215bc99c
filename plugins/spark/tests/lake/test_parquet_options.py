import pytest
from mqframe_spark.lake.parquet_options import ParquetOptions, format_of

from mqframe.core.errors import SettingError


def test_a_folder_that_comes_to_be_is_fine(tmp_path) -> None:
    ParquetOptions(path=tmp_path / "not" / "yet" / "there").check()


def test_a_path_below_a_file_is_none(tmp_path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SettingError, match="is no folder that may be written to"):
        ParquetOptions(path=tmp_path / "file" / "below").check()


def test_folders_hold_one_format(tmp_path) -> None:
    (tmp_path / "orders" / "day=2026-01-01").mkdir(parents=True)
    ParquetOptions(path=tmp_path).check_folder(tmp_path)
    with pytest.raises(SettingError, match="holds files that format = 'delta' does not go with: orders"):
        ParquetOptions(format="delta").check_folder(tmp_path)
    (tmp_path / "orders" / "_delta_log").mkdir()
    ParquetOptions(format="delta").check_folder(tmp_path)
    with pytest.raises(SettingError, match="holds files that format = 'parquet' does not go with: orders"):
        ParquetOptions().check_folder(tmp_path)


def test_what_a_folder_holds_is_seen(tmp_path) -> None:
    assert format_of(tmp_path) is None
    (tmp_path / "orders" / "day=2026-01-01").mkdir(parents=True)
    assert format_of(tmp_path) == ("parquet", "orders")
    (tmp_path / "orders" / "_delta_log").mkdir()
    assert format_of(tmp_path) == ("delta", "orders")
    (tmp_path / "iceberg").mkdir()
    (tmp_path / "iceberg" / "catalog.db").touch()
    assert format_of(tmp_path / "iceberg") == ("iceberg", "catalog.db")


def test_tables_have_no_limit_of_size() -> None:
    with pytest.raises(SettingError, match="use retention_days"):
        ParquetOptions(format="delta", size_bytes_max=1).check()


@pytest.mark.parametrize("name", ["delta", "iceberg"])
def test_a_missing_library_is_named_with_the_way_to_it(monkeypatch, name) -> None:
    monkeypatch.setattr("mqframe_spark.lake.parquet_options.find_spec", lambda library: None)
    with pytest.raises(SettingError, match=rf"pip install \"mqframe-plugin-spark\[{name}\]\""):
        ParquetOptions(format=name).check()


@pytest.mark.parametrize("hours", [0.5, -1])
def test_files_of_a_commit_under_way_are_not_old(hours) -> None:
    with pytest.raises(SettingError, match=r"vacuum_hours = .*: must be 0, or at least 1"):
        ParquetOptions(vacuum_hours=hours)
    ParquetOptions(vacuum_hours=0)
