"""Spark imports `pyspark_mqframe` in every session of the installation, whoever needs it."""

import subprocess
import sys

import pytest

IMPORT = """
import sys
import pyspark_mqframe
heavy = {"pyspark", "pyarrow", "mqframe", "mqframe_spark"} & set(sys.modules)
assert not heavy, heavy
"""
BROKEN = """
import sys
sys.modules["mqframe_spark"] = None        # stands for an installation that cannot be imported
import pyspark_mqframe
from pyspark.sql.datasource import DataSource
assert issubclass(pyspark_mqframe.DefaultSource, DataSource)
assert pyspark_mqframe.DefaultSource.name() == "mqframe"
try:
    pyspark_mqframe.DefaultSource({"topic": "t"})
except ImportError:
    print("told")
"""
NO_SPARK = """
import sys
sys.modules["pyspark"] = None
import pyspark_mqframe
assert not hasattr(pyspark_mqframe, "DefaultSource")
"""


@pytest.mark.parametrize("program", [IMPORT, BROKEN, NO_SPARK], ids=["import", "broken", "no_spark"])
def test_the_package_neither_fails_nor_costs(program) -> None:
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_unknown_names_are_no_attributes() -> None:
    import mqframe_spark
    import pyspark_mqframe

    for module in (pyspark_mqframe, mqframe_spark):
        with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
            _ = module.nothing
