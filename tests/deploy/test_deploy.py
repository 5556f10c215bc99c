"""The files in `deploy/`, as far as a machine without a container engine and without root can try them."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
UNITS = sorted(DEPLOY.glob("*.service"))
slow = pytest.mark.skipif(
    not (os.environ.get("CI") or os.environ.get("MQFRAME_SLOW")),
    reason="needs a registry; set MQFRAME_SLOW=1",
)


def instructions() -> list[tuple[str, str]]:
    """Each instruction of the Dockerfile with its words; continued lines are one."""
    text = (DEPLOY / "Dockerfile").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in lines)]


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
    shown = subprocess.run(
        [sys.executable, "-m", "mqframe", words[0], "--help"], capture_output=True, text=True, check=True
    ).stdout
    assert options
    assert [option for option in options if option not in shown] == []


def test_the_image_starts_a_command_that_there_is() -> None:
    found = dict(instructions())
    assert found["ENTRYPOINT"] == '["mqframe"]'
    assert found["CMD"].startswith('["server"')
    assert (ROOT / ".dockerignore").exists()


@pytest.mark.slow
@slow
def test_what_the_image_installs_can_run_a_server(tmp_path: Path) -> None:
    (run,) = [rest for word, rest in instructions() if word == "RUN"]
    install = shlex.split(run.partition("&&")[0])
    assert install[:2] == ["pip", "install"]
    environment = tmp_path / "venv"
    venv.create(environment, with_pip=True)
    places = [word.replace("/src", str(ROOT)) for word in install[2:]]
    done = subprocess.run(
        [environment / "bin/pip", "install", "--quiet", *places], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    command = [environment / "bin/mqframe", "server", "--nameserver-port", "0", "--broker-port", "0"]
    server = subprocess.Popen(
        [*command, "--data", str(tmp_path / "data")], stdout=subprocess.PIPE, text=True, cwd=tmp_path
    )
    try:
        assert server.stdout is not None
        assert server.stdout.readline().startswith("ready nameserver=")
    finally:
        server.terminate()
        assert server.wait(60) == 0
        assert server.stdout is not None
        server.stdout.close()
