import pytest
from mqframe_spark.durable_file import STORE_ID_FILE
from mqframe_spark.lake.formats import make_landing
from mqframe_spark.lake.landing import Slot
from mqframe_spark.lake.parquet_files import ParquetFolder
from mqframe_spark.lake.parquet_options import ParquetOptions

from mqframe.core.errors import SettingError


def test_files_land_by_topic_and_day(tmp_path) -> None:
    landing = make_landing(ParquetOptions(), tmp_path, "a")
    assert type(landing) is ParquetFolder
    assert landing.slot("orders", "2026-01-02") == Slot("orders", "2026-01-02")
    assert landing.published() == {}


def test_tables_land_by_topic(tmp_path) -> None:
    pytest.importorskip("deltalake")
    landing = make_landing(ParquetOptions(format="delta"), tmp_path, "a")
    assert landing.slot("orders", "2026-01-02") == Slot("orders", "")


def test_iceberg_tables_land_by_topic(tmp_path) -> None:
    pytest.importorskip("pyiceberg")
    landing = make_landing(ParquetOptions(format="iceberg"), tmp_path, "a")
    assert landing.slot("orders", "2026-01-02") == Slot("orders", "")
    assert landing.published() == {}
    assert (tmp_path / "iceberg" / "catalog.db").exists()


def test_the_store_gets_an_identity_that_stays(tmp_path) -> None:
    make_landing(ParquetOptions(), tmp_path, "a")
    first = (tmp_path / STORE_ID_FILE).read_text()
    make_landing(ParquetOptions(), tmp_path, "a")
    assert (tmp_path / STORE_ID_FILE).read_text() == first != ""


def test_a_folder_of_the_other_format_is_refused(tmp_path) -> None:
    (tmp_path / "parquet" / "orders" / "_delta_log").mkdir(parents=True)
    with pytest.raises(SettingError, match="choose another folder"):
        make_landing(ParquetOptions(), tmp_path, "a")
