"""Tries to get out of the sandbox, for real. A probe gives [name, held, detail] and does no harm where it succeeds."""

import ctypes
import errno
import json
import os
import platform
import resource
import socket

ENVIRONMENT = {
    *("PATH", "HOME", "TMPDIR", "LANG", "TZ", "PWD", "LC_CTYPE", "PYTHONHASHSEED", "PYTHONDONTWRITEBYTECODE"),
    *("PYTHONUNBUFFERED", "MALLOC_ARENA_MAX", "BW_MODEL_PROXY_URL", "BW_MODEL_MODEL", "BW_MODEL_PROXY_KEY"),
}
WRITES = (
    *("/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname", "/proc/sys/vm/overcommit_memory"),
    *("/proc/sys/user/max_user_namespaces", "/proc/sysrq-trigger", "/dev/mem"),
    *("/dev/kmsg", "/sys/kernel/uevent_helper", "/sys/fs/cgroup/cgroup.procs", "/new", "/bw/lib/bench_task.py"),
    *("/bw/lib/new.py", "/bw/site/new.py", "/usr/local/bin/new", "/etc/passwd", "/dev/new"),
)
ABSENT = (
    *("/home", "/root", "/etc/shadow", "/etc/ssh", "/var/run/docker.sock", "/run", "/var/lib", "/opt", "/boot", "/srv"),
    *("/sys/kernel", "/sys/fs", "/dev/mem", "/dev/kmsg", "/dev/sda", "/dev/vda", "/dev/kvm", "/lib/modules"),
)
# name: (x86_64, aarch64, arguments)
CALLS = {
    "mount": (165, 40, (0, b"/tmp", b"tmpfs", 0, 0)),
    "umount2": (166, 39, (b"/proc", 2)),
    "pivot_root": (155, 41, (b"/tmp", b"/tmp")),
    "chroot": (161, 51, (b"/tmp",)),
    "unshare": (272, 97, (0x10000000,)),
    "unshare(net)": (272, 97, (0x40000000,)),
    "setns": (308, 268, (0, 0)),
    "ptrace": (101, 117, (16, 0, 0, 0)),
    "process_vm_readv": (310, 270, (1, 0, 0, 0, 0, 0)),
    "process_vm_writev": (311, 271, (1, 0, 0, 0, 0, 0)),
    "pidfd_getfd": (438, 438, (0, 0, 0)),
    "bpf": (321, 280, (5, 0, 0)),
    "perf_event_open": (298, 241, (0, 0, -1, -1, 0)),
    "userfaultfd": (323, 282, (0,)),
    "keyctl": (250, 219, (0, -3, 0)),
    "add_key": (248, 217, (b"user", b"x", b"y", 1, -3)),
    "request_key": (249, 218, (b"user", b"x", 0, 0)),
    "io_uring_setup": (425, 425, (1, 0)),
    "kexec_load": (246, 104, (0, 0, 0, 0)),
    "init_module": (175, 105, (0, 0, 0)),
    "finit_module": (313, 273, (0, 0, 0)),
    "open_by_handle_at": (304, 265, (0, 0, 0)),
    "fsopen": (430, 430, (b"tmpfs", 0)),
    "open_tree": (428, 428, (-100, b"/", 1)),
    "mknod(device)": (None, 33, (-100, b"/tmp/device", 0o020666, 0x103)),
    "mknodat(device)": (259, 33, (-100, b"/tmp/device", 0o020666, 0x103)),
    "shmget": (29, 194, (0, 4096, 0o1600)),
    "prlimit of another": (302, 261, (1, 7, 0, 0)),
}
FAMILIES = {"AF_NETLINK": 16, "AF_PACKET": 17, "AF_ALG": 38, "AF_VSOCK": 40, "AF_KEY": 15, "AF_BLUETOOTH": 31}
CLONE_NEWUSER_CHILD = 0x10000000 | 17


def probe(given: dict) -> list:
    """All probes. ``given``: {"port": a port on the host's loopback, "path": a host file, "proxy": the own port,
    "tmp_mb": int, "judge": True in the score role}."""
    found = [identity(), environment(), descriptors(), processes(given), limits(given)]
    found += [write(path) for path in WRITES] + [absent(path) for path in (*ABSENT, given["path"])]
    found += [call(name, *spec) for name, spec in CALLS.items()] + [clone(), clone3()]
    found += [family(name, number) for name, number in FAMILIES.items()]
    found += network(given)
    if given.get("judge"):
        found += judge()
    return found


def identity() -> list:
    with open("/proc/self/status") as file:
        told = dict(line.split(":\t", 1) for line in file if ":\t" in line)
    caps = {name: int(told[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")}
    wrong = [name for name, value in caps.items() if value]
    wrong += [] if told["NoNewPrivs"].strip() == "1" else ["NoNewPrivs is off"]
    wrong += [] if told["Seccomp"].strip() == "2" else ["no system-call filter"]
    wrong += ["uid 0"] if 0 in os.getresuid() or 0 in os.getresgid() else []
    wrong += ["extra groups"] if set(os.getgroups()) - {os.getgid(), 65534} else []
    return ["identity", not wrong, ", ".join(wrong)]


def environment() -> list:
    extra = sorted(set(os.environ) - ENVIRONMENT)
    return ["environment", not extra, ", ".join(extra)]


def descriptors() -> list:
    """Standard streams and one channel, nothing else."""
    extra = []
    for fd in range(3, 4096):
        try:
            os.fstat(fd)
        except OSError:
            continue
        extra.append(fd)
    sockets = [fd for fd in extra if is_plain_file(fd)]
    return ["descriptors", len(extra) <= 8 and not sockets, f"open: {extra}, files among them: {sockets}"]


def is_plain_file(fd: int) -> bool:
    """Files and folders of the host; pipes, sockets and event descriptors are our own runner's."""
    kind = os.fstat(fd).st_mode & 0o170000
    return kind in (0o100000, 0o040000, 0o060000)


def processes(given: dict) -> list:
    seen = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    ours = os.getpid() == 1 or os.getppid() == 1
    return ["processes", ours and len(seen) <= 3, f"sees {len(seen)}"]


def limits(given: dict) -> list:
    wrong = []
    told = os.statvfs("/tmp")
    if told.f_blocks * told.f_frsize > (given["tmp_mb"] << 20) + 4096:
        wrong.append("/tmp is larger than its cap")
    for name in ("RLIMIT_NPROC", "RLIMIT_NOFILE", "RLIMIT_FSIZE", "RLIMIT_AS"):
        if resource.getrlimit(getattr(resource, name))[1] == resource.RLIM_INFINITY:
            wrong.append(f"{name} is not set")
    wrong += [] if resource.getrlimit(resource.RLIMIT_CORE)[1] == 0 else ["cores are written"]
    return ["limits", not wrong, ", ".join(wrong)]


def write(path: str) -> list:
    try:
        os.close(os.open(path, os.O_WRONLY | (0 if os.path.exists(path) else os.O_CREAT)))
    except OSError as error:
        return [f"write {path}", True, error.strerror]
    return [f"write {path}", False, "could be opened for writing"]


def absent(path: str) -> list:
    there = os.path.lexists(path)
    if there and os.path.isdir(path):
        try:
            there = bool(os.listdir(path))
        except OSError:
            there = False
    return [f"see {path}", not there, "is there" if there else ""]


def system_call(number: int, arguments: tuple) -> int:
    """0, or the error number."""
    invoke = ctypes.CDLL(None, use_errno=True).syscall
    given = [ctypes.c_char_p(value) if isinstance(value, bytes) else ctypes.c_long(value) for value in arguments]
    ctypes.set_errno(0)
    return ctypes.get_errno() if invoke(ctypes.c_long(number), *given) == -1 else 0


def call(name: str, x86: int, arm: int, arguments: tuple) -> list:
    number = x86 if platform.machine() == "x86_64" else arm
    if number is None:
        return [name, True, "no such call here"]
    code = system_call(number, arguments)
    return [name, code == errno.EPERM, errno.errorcode.get(code, "succeeded")]


def clone() -> list:
    number = 56 if platform.machine() == "x86_64" else 220
    pid = os.getpid()
    code = system_call(number, (CLONE_NEWUSER_CHILD, 0, 0, 0, 0))
    if os.getpid() != pid:
        os._exit(0)
    return ["clone(new user)", code == errno.EPERM, errno.errorcode.get(code, "succeeded")]


def clone3() -> list:
    code = system_call(435, (0, 0))
    return ["clone3", code == errno.ENOSYS, errno.errorcode.get(code, "succeeded")]


def family(name: str, number: int) -> list:
    try:
        socket.socket(number, socket.SOCK_RAW).close()
    except OSError as error:
        return [name, error.errno == errno.EPERM, errno.errorcode.get(error.errno, "")]
    return [name, False, "could be opened"]


def network(given: dict) -> list:
    places = [("127.0.0.1", given["port"]), ("169.254.169.254", 80), ("10.0.0.1", 80), ("1.1.1.1", 53)]
    found = []
    for host, port in places:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as attempt:
            attempt.settimeout(0.2)
            code = attempt.connect_ex((host, port))
        found.append([f"connect {host}", code != 0, errno.errorcode.get(code, "connected" if code == 0 else str(code))])
    try:
        socket.getaddrinfo("example.org", 80)
        found.append(["resolve names", False, "resolved"])
    except OSError as error:
        found.append(["resolve names", True, str(error)])
    return found


def judge() -> list:
    """In a child of the score role, as a candidate's process would: its judges can be neither ended nor read."""
    runner, ourselves = os.getppid(), os.getpid()
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(theirs, json.dumps(against(runner, ourselves)).encode())
        finally:
            os._exit(0)
    os.close(theirs)
    with open(ours, "rb") as file:
        told = file.read()
    os.waitpid(pid, 0)
    return json.loads(told or b'[["judge", false, "no answer"]]')


def against(runner: int, judge: int) -> list:
    found = []
    for name, target in {"the runner": runner, "the judge": judge, "all": -1, "the group": 0}.items():
        try:
            os.kill(target, 0)
            found.append([f"signal {name}", False, "allowed"])
        except OSError as error:
            found.append([f"signal {name}", error.errno == errno.EPERM, str(error)])
    for name in ("mem", "environ", "maps", "fd", "oom_score_adj"):
        for whose, pid in {"runner": runner, "judge": judge}.items():
            try:
                os.close(os.open(f"/proc/{pid}/{name}", os.O_RDWR if name in ("mem", "oom_score_adj") else os.O_RDONLY))
                found.append([f"open the {whose}'s {name}", False, "could be opened"])
            except OSError as error:
                found.append([f"open the {whose}'s {name}", True, str(error)])
    return found
