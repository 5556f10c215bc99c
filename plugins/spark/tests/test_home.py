from pathlib import Path

import pyspark
import pytest
from mqframe_spark.home import LINKED, lighter_home

INSTALLED = Path(pyspark.__file__).parent


def test_a_home_has_all_of_the_installed_spark_but_its_python_sources(tmp_path) -> None:
    environment = {"XDG_CACHE_HOME": str(tmp_path)}
    for _ in range(2):
        with lighter_home(environment):
            (home,) = (tmp_path / "mqframe").iterdir()
            assert environment["SPARK_HOME"] == str(home)
        assert environment == {"XDG_CACHE_HOME": str(tmp_path)}
        assert {each.name: each.resolve() for each in home.iterdir()} == {
            name: (INSTALLED / name).resolve() for name in LINKED
        }
    assert list((home / "jars").glob("spark-core_*.jar"))
    assert not (home / "python").exists()


def test_a_home_that_was_chosen_is_left_alone(tmp_path) -> None:
    environment = {"XDG_CACHE_HOME": str(tmp_path), "SPARK_HOME": "/opt/spark"}
    with lighter_home(environment):
        assert environment["SPARK_HOME"] == "/opt/spark"
    assert environment["SPARK_HOME"] == "/opt/spark"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("missing", ["caches", "packages"])
def test_where_none_can_be_made_spark_takes_its_own(tmp_path, monkeypatch, missing) -> None:
    if missing == "caches":
        (tmp_path / "mqframe").write_text("a file, so that no folder can be made")
    else:
        monkeypatch.setattr("site.getsitepackages", list)
        monkeypatch.setattr("site.getusersitepackages", str)
    environment = {"XDG_CACHE_HOME": str(tmp_path)}
    with lighter_home(environment):
        assert "SPARK_HOME" not in environment
