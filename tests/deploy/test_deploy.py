"""The files in `deploy/`, as far as a machine without a container engine and without root can try them."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
UNITS = sorted(DEPLOY.glob("*.service"))
EXPOSURE_MAX = 20
"""Tenths of what `systemd-analyze security` gives: 0 can do nothing, 100 everything."""
ENVIRONMENT = {key: value for key, value in os.environ.items() if not key.startswith("MQFRAME_")}
"""Without what configures these tests, which is no setting of servers."""
slow = pytest.mark.skipif(
    not (os.environ.get("CI") or os.environ.get("MQFRAME_SLOW")),
    reason="needs a registry; set MQFRAME_SLOW=1",
)


def stages() -> list[list[tuple[str, str]]]:
    """Each instruction of the Dockerfile with its words, by stage."""
    lines = (DEPLOY / "Dockerfile").read_text().replace("\\\n", " ").splitlines()
    found: list[list[tuple[str, str]]] = []
    for word, _, rest in (line.partition(" ") for line in lines if line.strip() and not line.startswith("#")):
        if word == "FROM":
            found.append([])
        found[-1].append((word, rest))
    return found


def options_shown(command: str) -> str:
    return subprocess.run(
        [sys.executable, "-m", "mqframe", command, "--help"], capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.name)
def test_systemd_accepts_the_units(unit: Path, tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze, which checks units, is not on PATH")
    # The program need not be installed where the unit says, to check the rest of it.
    text = re.sub(r"^(ExecStart=)\S+", rf"\1{sys.executable}", unit.read_text(), flags=re.MULTILINE)
    copy = tmp_path / unit.name.replace("@", "@shop")
    copy.write_text(text)
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(copy)], capture_output=True, text=True, check=False
    )
    said = [line for line in done.stderr.splitlines() if copy.name in line or unit.name in line]
    assert said == []
    assert done.returncode == 0


@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.name)
def test_units_start_commands_that_there_are(unit: Path) -> None:
    line = re.search(r"^ExecStart=(.*)$", unit.read_text(), re.MULTILINE)
    assert line is not None
    words = shlex.split(line[1])[1:]
    options = [word for word in words if word.startswith("--")]
    shown = options_shown(words[0])
    assert options
    assert [option for option in options if option not in shown] == []


@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.name)
def test_units_may_do_little(unit: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze, which rates units, is not on PATH")
    words = ["systemd-analyze", "security", "--offline=yes", f"--threshold={EXPOSURE_MAX}", str(unit)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if "Unknown" in done.stderr or "unrecognized" in done.stderr:
        pytest.skip(f"this systemd-analyze rates no files: {done.stderr.strip()}")
    assert done.returncode == 0, done.stdout[-500:]


def test_the_image_holds_what_was_installed_and_no_sources() -> None:
    build, last = stages()
    assert ("COPY", ". /src") in build
    (copied,) = [rest for word, rest in last if word == "COPY"]
    place = copied.split()[-1]
    assert f"--from=build {place} {place}" == copied
    assert any(word == "ENV" and f"PATH={place}/bin:" in rest for word, rest in last)
    (user,) = [rest for word, rest in last if word == "USER"]
    assert any(word == "RUN" and f"--uid {user} " in rest for word, rest in last)


def test_the_image_installs_from_the_clone_what_standard_brings() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    (installed,) = [rest for word, rest in stages()[0] if word == "RUN" and "pip install" in rest]
    folders = [ROOT / word.removeprefix("/src/") for word in installed.split() if word.startswith("/src/")]
    named = {tomllib.loads((each / "pyproject.toml").read_text())["project"]["name"] for each in folders}
    standard = {Requirement(each).name for each in extras["standard"]}
    assert {name for name in standard if name.startswith("mqframe-")} <= named


def test_the_image_starts_a_command_that_there_is() -> None:
    found = dict(stages()[-1])
    assert found["ENTRYPOINT"] == '["mqframe"]'
    assert found["CMD"].startswith('["server"')
    assert (ROOT / ".dockerignore").exists()


def missing_in(mqframe: Path, folder: Path) -> dict[str, str]:
    """What the pages of deployment have in their settings, or start, and this `mqframe` does not take."""
    found = {}
    for page in ("access", "deploy", "failover", "operate", "security", "deduplication", "schedules"):
        text = (ROOT / f"docs/howto/{page}.md").read_text()
        for number, block in enumerate(re.findall(r"^```toml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)):
            path = folder / f"{page}-{number}.toml"
            path.write_text(block)
            words = [mqframe, "config", "show", "--for", "server", "--config", path, "--changed"]
            done = subprocess.run(words, capture_output=True, text=True, check=False, env=ENVIRONMENT)
            if done.returncode:
                found[path.name] = done.stderr
    for command in ("dashboard", "schedule", "quota", "replica", "user"):
        words = [mqframe, command, "--help"]
        done = subprocess.run(words, capture_output=True, text=True, check=False, env=ENVIRONMENT)
        if done.returncode:
            found[command] = done.stderr
    return found


def test_settings_on_pages_of_deployment_are_taken(tmp_path: Path) -> None:
    assert missing_in(Path(sys.executable).with_name("mqframe"), tmp_path) == {}


@pytest.mark.long
@slow
@pytest.mark.skipif(shutil.which("cargo") is None, reason="cargo is not on PATH")
def test_what_the_image_installs_can_run_a_server(tmp_path: Path) -> None:
    (run,) = [rest for word, rest in stages()[0] if word == "RUN" and "pip install " in rest]
    install = shlex.split(run)
    assert install[:2] == ["/opt/mqframe/bin/pip", "install"]
    environment = tmp_path / "venv"
    venv.create(environment, with_pip=True)
    places = [word.replace("/src", str(ROOT)) for word in install[2:]]
    done = subprocess.run(
        [environment / "bin/pip", "install", "--quiet", *places],
        capture_output=True,
        text=True,
        check=False,
        env={"CARGO_TARGET_DIR": str(ROOT / "build/speedups_target"), **os.environ},
    )
    assert done.returncode == 0, done.stderr
    assert missing_in(environment / "bin/mqframe", tmp_path) == {}
    command = [environment / "bin/mqframe", "server", "--nameserver-port", "0", "--broker-port", "0"]
    server = subprocess.Popen(
        [*command, "--data", str(tmp_path / "data")],
        stdout=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=ENVIRONMENT,
    )
    try:
        assert server.stdout is not None
        assert server.stdout.readline().startswith("ready nameserver=")
    finally:
        server.terminate()
        assert server.wait(60) == 0
        assert server.stdout is not None
        server.stdout.close()
