"""What Helm makes of the chart."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import own_programs
import yaml
from interop.foreign_programs import HELM, build_helm, helm_program

CHART = Path(__file__).parents[2] / "deploy/helm/mqframe"


def rendered(*words: str) -> list[dict[str, Any]]:
    """The manifests of a release `shop` in the namespace `queues`, with values that `words` give.

    `CalledProcessError` where Helm does not take them, or its lint blames anything.
    """
    helm = _helm()
    subprocess.run([helm, "lint", "--strict", str(CHART), *words], check=True, capture_output=True)
    done = subprocess.run(
        [helm, "template", "shop", str(CHART), "--namespace", "queues", *words],
        check=True,
        capture_output=True,
        text=True,
    )
    return [each for each in yaml.safe_load_all(done.stdout) if each]


def _helm() -> str:
    """The program. It is built where the run is CI's: that takes minutes, once."""
    found = shutil.which("helm") or next((str(path) for path in [helm_program()] if path.exists()), None)
    if found is not None:
        return found
    if shutil.which("go") is None or not os.environ.get("CI"):
        own_programs.missing(f"helm, which renders charts, is not on PATH (CI builds {HELM} by go)")
    return str(build_helm())
