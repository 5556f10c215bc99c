"""Runs the tests of compiled code with address sanitizer: the first wrong access to memory ends the process.

    python tools/sanitize_speedups.py [arguments for pytest]

Those in Rust come first, then those of `packages/speedups`, whose library is built so and loaded into Python.
Needs cargo, uv and gcc, and an environment in which the tests run. All that is made is in `build/sanitized`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
SOURCE: Final = ROOT / "packages/speedups"
PLACE: Final = ROOT / "build/sanitized"
LEAF: Final = PLACE / "leaf"
REPORT: Final = PLACE / "report"
"""How the names of files begin into which the sanitizer writes: pytest would keep it from standard error."""


def said(*command: str) -> str:
    """What a command writes to standard output."""
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def building() -> dict[str, str]:
    """The environment of builds, whose target is named so that what runs while building is as ever."""
    (host,) = [line.split()[1] for line in said("rustc", "-vV").splitlines() if line.startswith("host: ")]
    return {
        **os.environ,
        "RUSTC_BOOTSTRAP": "1",  # has a stable compiler take the next option; it brings what that needs
        "RUSTFLAGS": "-Zsanitizer=address",
        "CARGO_BUILD_TARGET": host,
        "CARGO_TARGET_DIR": str(PLACE / "target"),
        "CARGO_PROFILE_DEV_OPT_LEVEL": "1",
        "MATURIN_PEP517_ARGS": "--profile dev",  # which checks sums and indices, too
    }


def build_leaf(environment: dict[str, str]) -> None:
    """Install the distribution into a folder; by a wheel, so that no cache gives it to other builds."""
    uv = shutil.which("uv") or str(ROOT / ".tools/bin/uv")
    for folder in (LEAF, PLACE / "wheel"):
        shutil.rmtree(folder, ignore_errors=True)
    wheel = ["build", "--quiet", "--wheel", "--out-dir", str(PLACE / "wheel"), str(SOURCE)]
    subprocess.run([uv, *wheel], env=environment, check=True)
    found = map(str, (PLACE / "wheel").glob("*.whl"))
    install = ["pip", "install", "--quiet", "--no-deps", "--python", sys.executable, "--target", str(LEAF)]
    subprocess.run([uv, *install, "--project", str(SOURCE), *found], check=True)


def running() -> dict[str, str]:
    """The environment of Python with the library. All memory is from the C library: the sanitizer sees it."""
    return {
        **os.environ,
        "LD_PRELOAD": said("gcc", "-print-file-name=libasan.so").strip(),
        "ASAN_OPTIONS": f"detect_leaks=0:log_path={REPORT}",  # Python itself ends with much that it has
        "PYTHONMALLOC": "malloc",
        "PYTHONPATH": f"{ROOT / 'tests'}{os.pathsep}{LEAF}",
    }


def main() -> int:
    """0 where all tests passed and nothing was reported."""
    PLACE.mkdir(parents=True, exist_ok=True)
    for old in PLACE.glob(f"{REPORT.name}.*"):
        old.unlink()
    environment = building()
    tested = subprocess.run(["cargo", "test", "--quiet"], cwd=SOURCE / "native", env=environment)
    build_leaf(environment)
    load = [sys.executable, "-c", "import mqframe_speedups._native"]
    without = {**os.environ, "PYTHONPATH": str(LEAF)}
    if not subprocess.run(load, env=without, capture_output=True).returncode:
        print("the library can be loaded without the sanitizer, so it was built without it")
        return 1
    subprocess.run(load, env=running(), check=True)
    words = [sys.executable, "-m", "pytest", "-q", "packages/speedups/tests", *sys.argv[1:]]
    played = subprocess.run(words, cwd=ROOT, env=running())
    reports = sorted(PLACE.glob(f"{REPORT.name}.*"))
    for report in reports:
        print(report.read_text("utf-8", "replace"))
    return int(bool(reports or tested.returncode or played.returncode))


if __name__ == "__main__":
    sys.exit(main())
