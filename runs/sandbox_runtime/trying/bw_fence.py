"""Limits that a program's process sets on itself for good, before the first line of the program is read.

A system-call filter on top of the sandbox's own: no other process, no new program, no signal to anybody else, no
socket, nobody else's limits or priorities. What is refused is refused with EPERM.
"""

import ctypes
import os
import resource
import struct

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, FILTER_MODE = 38, 22, 2
LOAD, EQUAL, AT_LEAST, ANY_BIT, GIVE = 0x20, 0x15, 0x35, 0x45, 0x06
ALLOW, EPERM, ENOSYS = 0x7FFF0000, 0x00050001, 0x00050026
CLONE_THREAD = 0x00010000
X32 = 0x40000000
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
FILE_BYTES, FILES = 16 << 20, 64

# name: (x86_64, aarch64); None where there is no such call.
REFUSED = {
    "fork": (57, None), "vfork": (58, None), "execve": (59, 221), "execveat": (322, 281),
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272),
    "pidfd_open": (434, 434), "pidfd_getfd": (438, 438), "pidfd_send_signal": (424, 424), "process_madvise": (440, 440),
    "process_mrelease": (448, 448), "socket": (41, 198), "memfd_create": (319, 279), "memfd_secret": (447, 447),
    "setsid": (112, 157), "setpgid": (109, 154), "setpriority": (141, 140), "ioprio_set": (251, 30),
    "sched_setparam": (142, 118), "sched_setscheduler": (144, 119), "sched_setattr": (314, 274),
    "sched_setaffinity": (203, 122), "migrate_pages": (256, 238), "move_pages": (279, 239),
    "unshare": (272, 97), "setns": (308, 268), "bpf": (321, 280), "io_uring_setup": (425, 425), "keyctl": (250, 219),
    "add_key": (248, 217), "request_key": (249, 218), "userfaultfd": (323, 282), "perf_event_open": (298, 241),
}  # fmt: skip
CLONE, CLONE3, PRLIMIT = (56, 220), (435, 435), (302, 261)
SIGNALS = {
    "kill": (62, 129),
    "tkill": (200, 130),
    "tgkill": (234, 131),
    "sigqueue": (129, 138),
    "tgsigqueue": (297, 240),
}


def close(memory: int, seconds: int) -> None:
    """``memory``: bytes of address space; ``seconds`` of processor time. OSError where the filter can't be set."""
    for kind, value in (
        (resource.RLIMIT_AS, memory), (resource.RLIMIT_CPU, seconds), (resource.RLIMIT_FSIZE, FILE_BYTES),
        (resource.RLIMIT_NOFILE, FILES), (resource.RLIMIT_CORE, 0),
    ):  # fmt: skip
        hard = resource.getrlimit(kind)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, value))
    code = program(os.uname().machine, os.getpid())
    if not code:
        return
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    text = ctypes.create_string_buffer(code, len(code))
    holder = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(text))
    address = ctypes.create_string_buffer(holder, len(holder))
    if prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or prctl(PR_SET_SECCOMP, FILTER_MODE, address, 0, 0):
        raise OSError(ctypes.get_errno(), "the filter of system calls can't be set")


def program(machine: str, own: int) -> bytes:
    """Classic BPF for this machine; empty for one that is not known (only unsandboxed macOS is)."""
    if machine not in ARCHITECTURES:
        return b""
    here = 0 if machine == "x86_64" else 1
    code = op(LOAD, 4) + op(EQUAL, ARCHITECTURES[machine], 1, 0) + op(GIVE, EPERM) + op(LOAD, 0)
    if machine == "x86_64":
        code += op(AT_LEAST, X32, 0, 1) + op(GIVE, ENOSYS)
    code += when(CLONE3[here], op(GIVE, ENOSYS))  # its flags lie in memory; libc falls back to clone
    code += b"".join(when(numbers[here], op(GIVE, EPERM)) for numbers in REFUSED.values())
    code += when(CLONE[here], op(LOAD, 16) + op(ANY_BIT, CLONE_THREAD, 1, 0) + op(GIVE, EPERM) + op(GIVE, ALLOW))
    code += when(PRLIMIT[here], op(LOAD, 16) + op(EQUAL, 0, 1, 0) + op(GIVE, EPERM) + op(GIVE, ALLOW))
    for numbers in SIGNALS.values():
        code += when(numbers[here], op(LOAD, 16) + op(EQUAL, own, 1, 0) + op(GIVE, EPERM) + op(GIVE, ALLOW))
    return code + op(GIVE, ALLOW)


def op(code: int, value: int, on_true: int = 0, on_false: int = 0) -> bytes:
    return struct.pack("<HBBI", code, on_true, on_false, value & 0xFFFFFFFF)


def when(number, body: bytes) -> bytes:
    """``body`` for this call only; it ends the program."""
    return b"" if number is None else op(EQUAL, number, 0, len(body) // 8) + body
