"""The foreign test clients: jars and compiled classes, a Go program, Node modules; made once and kept.

    python tests/interop/foreign_programs.py [--all]

makes those of usual runs, or those of long ones, too. Tests make what they need themselves; CI begins here,
while other tests run, as most of the time goes into downloads.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from mqframe_testing.ports import lasting_port

HERE = Path(__file__).parent
CACHE = Path.home() / ".cache" / "mqframe-interop"
NEWEST = "5.3.3"
OLDER = "4.9.7"
LATEST = "5.5.0"
"""Of which only a broker, and the clients of its tests, are run; `NEWEST` is what ours are compared with."""

HELM = "v3.18.6"

JAVA_FLAGS = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
"""The quick compiler saves seconds of a start, and few objects need no collector of many threads."""

# What the broker's use of unsafe memory and of mapped files needs on Java 17.
OPENS = [
    "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-exports=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
]

LOGS = '<configuration><root level="OFF"/></configuration>'
"""What 4.x wants to find in its home, and others in a jar."""

SERVERS = """\
brokerIP1=127.0.0.1
bindAddress=127.0.0.1
listenPort={port}
haListenPort={ha_port}
namesrvAddr={nameserver}
storePathRootDir={home}/store
storePathCommitLog={home}/store/commitlog
mappedFileSizeCommitLog=16777216
mappedFileSizeConsumeQueue=600000
maxHashSlotNum=5000
maxIndexNum=20000
diskMaxUsedSpaceRatio=95
"""
"""The file of a broker whose classes are archived."""

NEWEST_ONLY = {"Dashboard.java", "Mqadmin.java", "Pop.java"}
"""Sources that need classes which the older version does not have."""

# The one class that moved between the two versions.
MOVED = {
    OLDER: (
        "org.apache.rocketmq.remoting.protocol.heartbeat",
        "org.apache.rocketmq.common.protocol.heartbeat",
    )
}


def build_class_path(version: str) -> str:
    """The jars of one RocketMQ version and the compiled test client."""
    home = CACHE / version
    jars = home / "lib"
    with alone(version):
        if not (home / "complete").exists():
            command = ["mvn", "-q", "-B", "-f", str(HERE / "java/pom.xml"), f"-Drocketmq.version={version}"]
            subprocess.run(
                [*command, "dependency:copy-dependencies", f"-DoutputDirectory={jars}"],
                check=True,
                timeout=600,
            )
            (home / "complete").touch()
        return f"{_compiled(version, jars, home / 'classes') / 'interop.jar'}:{jars}/*"


def java_flags(class_path: str) -> list[str]:
    """`JAVA_FLAGS`, and the archive of classes that lies beside the test client of `class_path`."""
    archive = Path(class_path.partition(":")[0]).with_name("classes.jsa")
    return [*JAVA_FLAGS, f"-XX:SharedArchiveFile={archive}", "-Xlog:cds=off"]


def write_logs(home: Path) -> None:
    """Have servers whose home this is keep no logs."""
    for name in ("namesrv", "broker", "tools"):
        logs = home / f"conf/logback_{name}.xml"
        logs.parent.mkdir(exist_ok=True)
        logs.write_text(LOGS)


def build_go_program() -> Path:
    """The Go test client, built outside the repository; the module cache keeps what it needs."""
    program = CACHE / "go" / "interop"
    command = ["go", "build", "-buildvcs=false", "-o", str(program), "."]
    with alone("go"):
        subprocess.run(command, cwd=HERE / "go", check=True, timeout=300)
    return program


def helm_program() -> Path:
    """Where `build_helm` leaves the program."""
    return CACHE / "helm" / HELM / "helm"


def build_helm() -> Path:
    """Helm, which renders charts, of one version; several minutes of a processor the first time."""
    program = helm_program()
    with alone("helm"):
        if not program.exists():
            environment = {**os.environ, "GOBIN": str(program.parent), "GOFLAGS": "-buildvcs=false"}
            command = ["go", "install", f"helm.sh/helm/v3/cmd/helm@{HELM}"]
            subprocess.run(command, env=environment, check=True, timeout=1200)
    return program


def install_node_modules() -> Path:
    """The folder of what the Node test client requires, made once for each state of its lock file."""
    sources = {name: (HERE / "node" / name).read_bytes() for name in ("package.json", "package-lock.json")}
    home = CACHE / "node" / hashlib.sha256(repr(sources).encode()).hexdigest()[:16]
    with alone("node"):
        if not (home / "complete").exists():
            home.mkdir(exist_ok=True)
            for name, content in sources.items():
                (home / name).write_bytes(content)
            subprocess.run(["npm", "ci", "--no-audit", "--no-fund"], cwd=home, check=True, timeout=300)
            (home / "complete").touch()
    return home / "node_modules"


@contextlib.contextmanager
def alone(name: str) -> Iterator[None]:
    """While no other process makes what goes to the folder `name`."""
    folder = CACHE / name
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _compiled(version: str, jars: Path, classes: Path) -> Path:
    """The folder of the test client, made once for each state of its sources.

    It is packed, for a JVM keeps no classes that come from folders.
    """
    old, new = MOVED.get(version, ("", ""))
    files = sorted((HERE / "java").glob("*.java"))
    sources = {
        file.name: file.read_text().replace(old, new)
        for file in files
        if version != OLDER or file.name not in NEWEST_ONLY
    }
    folder = classes / hashlib.sha256(repr((sources, LOGS)).encode()).hexdigest()[:16]
    if folder.exists():
        return folder
    classes.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=classes) as work:
        made, packed = Path(work, "classes"), Path(work, "packed")
        for name, text in sources.items():
            Path(work, name).write_text(text)
        command = ["javac", "-nowarn", "-cp", f"{jars}/*", "-d", str(made)]
        command += [str(Path(work, name)) for name in sources]
        done = subprocess.run(command, timeout=120, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        packed.mkdir()
        with zipfile.ZipFile(packed / "interop.jar", "w") as jar:
            for file in made.rglob("*.class"):
                jar.write(file, file.relative_to(made))
            # What 5.x looks for first; else each process reads and sets up all that a broker's logs need.
            jar.writestr("rmq.logback-test.xml", LOGS)
        packed.rename(folder)
    _archive(folder, f"{folder / 'interop.jar'}:{jars}/*")
    return folder


def _archive(folder: Path, class_path: str) -> None:
    """Make `folder`/classes.jsa, of what a name server, a broker and clients load while they work."""
    with tempfile.TemporaryDirectory() as work:
        names, broker = f"127.0.0.1:{lasting_port()}", lasting_port(1, -2)
        write_logs(Path(work))
        settings = SERVERS.format(home=work, nameserver=names, port=broker, ha_port=broker + 1)
        for name, lines in (
            ("ns", f"bindAddress=127.0.0.1\nlistenPort={names.partition(':')[2]}\n"),
            ("broker", settings),
        ):
            Path(work, f"{name}.conf").write_text(lines)
        command = ["java", *OPENS, *JAVA_FLAGS, f"-XX:ArchiveClassesAtExit={folder / 'classes.jsa'}"]
        command += ["-Xlog:cds=off", f"-Duser.home={work}", "-cp", class_path, "ClassArchive", work, names]
        environment = {**os.environ, "ROCKETMQ_HOME": work}
        # Without an archive, all is the same, and slower.
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run(command, timeout=120, capture_output=True, check=False, env=environment)


if __name__ == "__main__":
    build_go_program()
    for version_of_jars in (NEWEST, *((OLDER, LATEST) if "--all" in sys.argv else ())):
        build_class_path(version_of_jars)
    install_node_modules()
    build_helm()
