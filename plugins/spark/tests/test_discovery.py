"""Spark imports `pyspark_mqframe` in every session of the installation, whoever needs it."""

import subprocess
import sys

import pytest

IMPORT = """
import sys
import __future__, typing      # all that it needs, and everybody has
before = set(sys.modules)
import pyspark_mqframe
heavy = {"pyspark", "pyarrow", "numpy", "pandas", "mqframe", "mqframe_spark", "asyncio"} & set(sys.modules)
assert not heavy, heavy
assert len(set(sys.modules) - before) <= 2, set(sys.modules) - before
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


OLDEST = """
import sys
sys.modules["pyspark.sql.datasource"] = None      # as in PySpark 3
import pyspark
pyspark.__version__ = "3.5.1"
import pyspark_mqframe                            # costs nothing and does not fail
try:
    from pyspark_mqframe import DefaultSource
except ImportError as problem:
    assert "needs PySpark 4.2 or newer, and this is 3.5.1" in str(problem), problem
else:
    raise AssertionError("not told")
"""
PROGRAMS = {"import": IMPORT, "broken": BROKEN, "no_spark": NO_SPARK, "oldest": OLDEST}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_the_package_neither_fails_nor_costs(program) -> None:
    subprocess.run([sys.executable, "-c", program], check=True, timeout=240)


def test_unknown_names_are_no_attributes() -> None:
    import mqframe_spark
    import pyspark_mqframe

    for module in (pyspark_mqframe, mqframe_spark):
        with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
            _ = module.nothing
