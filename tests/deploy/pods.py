"""Pods of rendered manifests, run by the kernel's namespaces where there is no container engine.

Each has a network of its own beside the others', its files read-only but for volumes, and the user of its
manifest, who may change nothing else. What an image would bring is this environment and the machine's
programs. Names of services are those of a file of hosts, and a pod that starts again has another address, as
in a cluster.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PROGRAMS = ("ip", "unshare", "nsenter", "setpriv", "chroot")
READS = "+dac_read_search"
"""The one capability of a pod: files of an image may be read by all, those of this machine perhaps not."""
WITH_US = ("setpriv", "--pdeathsig=KILL")
"""Ends with these tests, however they end."""
NODE = """
set -e
mount -t tmpfs tmpfs /run
mkdir /run/netns
ip link set lo up
ip link add pods type bridge
ip addr add 10.77.0.1/16 dev pods
ip link set pods up
echo there
exec cat
"""
POD = """
set -e
mount -t tmpfs -o mode=755 tmpfs {root}
{binds}
mkdir -p {root}/tmp {root}/proc {root}/etc
for each in alternatives group ld.so.cache localtime nsswitch.conf passwd ssl; do
  if [ -e /etc/$each ]; then cp -a /etc/$each {root}/etc/; fi
done
touch {root}/etc/hosts
mount -t tmpfs -o mode=1777 tmpfs {root}/tmp
mount -t proc proc {root}/proc
{volumes}
mount -o remount,ro {root}
exec chroot {root} setpriv --pdeathsig=KILL --reuid={user} --regid={group} --clear-groups --no-new-privs \
  --bounding-set=-all,{reads} --inh-caps=-all,{reads} --ambient-caps=-all,{reads} \
  env -i {environment} {command}
"""


def missing_programs() -> list[str]:
    """What pods are run by and is not on PATH."""
    return [program for program in PROGRAMS if shutil.which(program) is None]


def may_run() -> bool:
    """Whether this user may make networks of its own, with bridges."""
    words = ["unshare", "--net", "--mount", "ip", "link", "add", "pods", "type", "bridge"]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


class Pod:
    """One pod of a node: its container's process, and where it is."""

    def __init__(self, node: Node, name: str, spec: dict[str, Any], files: dict[str, str]) -> None:
        self.name = name
        self.address = ""
        self._node = node
        self._spec = spec
        (self._container,) = spec["containers"]
        self._folder = node.folder / name
        self._files = files
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Run the container in a new network, at a new address."""
        for part in ("data", "root", "settings"):
            (self._folder / part).mkdir(parents=True, exist_ok=True)
        for name, text in self._files.items():
            (self._folder / "settings" / name).write_text(text)
        security = self._spec["securityContext"]
        os.chown(self._folder / "data", security["runAsUser"], security["fsGroup"])
        network, self.address = self._node.network()
        self._node.names[self.name] = self.address
        words = self._node.inside("ip", "netns", "exec", network)
        words += ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child"]
        with (self._folder / "log").open("ab") as log:
            run = [*WITH_US, *words, "sh", "-c", self._script()]
            self._process = subprocess.Popen(run, stdout=log, stderr=log)
        self._node.write_hosts()

    def _script(self) -> str:
        root = self._folder / "root"
        mounts = {mount["name"]: mount["mountPath"] for mount in self._container["volumeMounts"]}
        kept = {"data": self._folder / "data", "settings": self._folder / "settings"}
        volumes = [f"mount --bind {self._node.hosts} {root}/etc/hosts"]
        for name, place in mounts.items():
            if name in kept:
                volumes.append(f"mkdir -p {root}{place} && mount --bind {kept[name]} {root}{place}")
        values = {"POD_NAME": self.name, "POD_IP": self.address}
        fixed = {each["name"]: each["value"] for each in self._container.get("env", ()) if "value" in each}
        environment = {
            "PATH": f"{sys.prefix}/bin:{os.defpath}",
            "PYTHONDONTWRITEBYTECODE": "1",
            **fixed,
            **values,
        }
        command = [*self._container.get("command", ["mqframe"]), *self._container["args"]]
        for key, value in values.items():
            command = [word.replace(f"$({key})", value) for word in command]
        return POD.format(
            root=root,
            reads=READS,
            binds="\n".join(
                f"mkdir -p {root}{each} && mount --rbind {each} {root}{each}" for each in _of_the_image()
            ),
            volumes="\n".join(volumes),
            user=self._spec["securityContext"]["runAsUser"],
            group=self._spec["securityContext"]["runAsGroup"],
            environment=shlex.join(f"{key}={value}" for key, value in environment.items()),
            command=shlex.join(command),
        )

    def kill(self) -> None:
        """End it as a node that loses power does."""
        assert self._process is not None
        self._process.kill()
        self._process.wait(30)
        self._process = None

    def log(self) -> str:
        """All that it has written so far."""
        return (self._folder / "log").read_text(errors="replace")

    def url(self, probe: str) -> str:
        """What a probe of its container asks."""
        asked = self._container[probe]["httpGet"]
        ports = {each["name"]: each["containerPort"] for each in self._container["ports"]}
        return f"http://{self.address}:{ports[asked['port']]}{asked['path']}"


class Node:
    """A network with pods, and where the test itself has the first address."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.hosts = folder / "hosts"
        self.names: dict[str, str] = {}
        self._suffixes: dict[str, list[str]] = {}
        self._made = 0
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Make the network. `AssertionError` where it cannot be made."""
        self.folder.mkdir()
        self.hosts.write_text("127.0.0.1 localhost\n")
        words = [*WITH_US, "unshare", "--net", "--mount", "--propagation", "private", "sh", "-c", NODE]
        self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"there\n"

    def stop(self) -> None:
        """End it, with its networks."""
        if self._process is not None:
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.stdin.close()
            self._process.wait(30)
            self._process.stdout.close()

    def inside(self, *words: str) -> list[str]:
        """The command that runs `words` in this network."""
        assert self._process is not None
        return ["nsenter", "--target", str(self._process.pid), "--net", "--mount", "--", *words]

    def network(self) -> tuple[str, str]:
        """The name of a new network beside the others, and its address."""
        self._made += 1
        name, address = f"pod{self._made}", f"10.77.1.{self._made}"
        script = f"""
        set -e
        ip netns add {name}
        ip link add v{self._made} type veth peer name eth0 netns {name}
        ip link set v{self._made} master pods up
        ip -n {name} addr add {address}/16 dev eth0
        ip -n {name} link set eth0 up
        ip -n {name} link set lo up
        """
        subprocess.run(self.inside("sh", "-c", script), check=True)
        return name, address

    def call(self, pod: str, *names: str) -> None:
        """Have `names` mean that pod."""
        self._suffixes[pod] = list(names)

    def write_hosts(self) -> None:
        """Tell all pods where each is; in place, as they have the file itself."""
        lines = ["127.0.0.1 localhost"]
        for pod, address in self.names.items():
            lines.append(" ".join([address, *self._suffixes.get(pod, ())]))
        self.hosts.write_text("\n".join(lines) + "\n")

    def python(self, script: str, *words: str, timeout: float = 240) -> str:
        """What a script of Python writes that runs here, where pods have their names."""
        bind = f"mount --bind {self.hosts} /etc/hosts && exec"
        command = f"{bind} {shlex.join([sys.executable, '-c', script, *words])}"
        ran = self.inside("unshare", "--mount", "--propagation", "private", "sh", "-c", command)
        done = subprocess.run(ran, capture_output=True, text=True, timeout=timeout, check=False)
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout


@contextmanager
def pods_of(found: list[dict[str, Any]], folder: Path) -> Iterator[tuple[Node, dict[str, Pod]]]:
    """All pods of rendered manifests, started, by name; of a deployment's one pod that has its name."""
    (settings,) = [each["data"] for each in found if each["kind"] == "ConfigMap"]
    node = Node(folder)
    node.start()
    with ExitStack() as ending:
        ending.callback(node.stop)
        pods = {}
        for each in found:
            if each["kind"] not in ("StatefulSet", "Deployment"):
                continue
            name, spec = each["metadata"]["name"], each["spec"]
            alone = each["kind"] == "Deployment"
            for pod in [name] if alone else [f"{name}-{n}" for n in range(spec["replicas"])]:
                host = f"{pod}.queues.svc" if alone else f"{pod}.{name}.queues.svc"
                node.call(pod, host, pod)
                pods[pod] = Pod(node, pod, spec["template"]["spec"], settings)
        for made in pods.values():
            made.start()
            ending.callback(_ended, made)
        yield node, pods


def _ended(pod: Pod) -> None:
    if pod._process is not None:  # one that a test killed and left so
        pod.kill()


def _of_the_image() -> list[Path]:
    """What a pod sees of this machine: programs and libraries, and this environment."""
    wanted = [Path(each) for each in ("/bin", "/dev", "/lib", "/lib64", "/sbin", "/usr")]
    wanted += [Path(sys.base_prefix), Path(sys.prefix), ROOT]
    found: list[Path] = []
    for each in sorted(path for path in wanted if path.exists()):
        if not any(each.is_relative_to(other) for other in found):
            found.append(each)
    return found
