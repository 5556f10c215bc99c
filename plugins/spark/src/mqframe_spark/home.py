"""A home for Spark in which its Python processes load modules that are compiled already."""

from __future__ import annotations

import contextlib
import hashlib
import os
import site
from collections.abc import Iterator, MutableMapping
from pathlib import Path
from typing import Final

import pyspark

from mqframe_spark.java import caches

LINKED: Final = ("bin", "sbin", "jars", "data", "licenses")


@contextlib.contextmanager
def lighter_home(environment: MutableMapping[str, str] | None = None) -> Iterator[None]:
    """Inside, `SPARK_HOME` is links to the installed pyspark, without its archive of Python sources.

    Spark puts that archive first on the path of each Python process, which then compiles what it imports at
    each start; of the modules that are installed beside it there is byte code. The links stay in the user's
    folder of caches. `environment`: what is looked at and changed, `os.environ` by default; other programs
    that this process starts later may have a Spark of their own. Nothing changes where SPARK_HOME is set,
    where another process would not find the modules, or where links cannot be made.
    """
    environment = os.environ if environment is None else environment
    installed = Path(pyspark.__file__).parent
    found_by_all = [*site.getsitepackages(), site.getusersitepackages()]
    if environment.get("SPARK_HOME") or str(installed.parent) not in found_by_all:
        yield
        return
    mark = hashlib.sha256(str(installed).encode()).hexdigest()[:12]
    with contextlib.suppress(OSError, RuntimeError):  # the latter where there is no home of the user
        home = caches(environment) / f"spark-{pyspark.__version__}-{mark}"
        link_home(home, installed)
        environment["SPARK_HOME"] = str(home)
    try:
        yield
    finally:
        environment.pop("SPARK_HOME", None)


def link_home(home: Path, installed: Path) -> None:
    """Make, in `home`, what Spark needs of the folder `installed`. Several processes may do so at once."""
    home.mkdir(parents=True, exist_ok=True)
    for name in LINKED:
        with contextlib.suppress(FileExistsError):
            (home / name).symlink_to(installed / name)
