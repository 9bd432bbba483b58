"""The system calls a sandbox may not make, as a classic BPF program assembled by hand for bwrap's --seccomp.

A deny list over bwrap's own walls: what is refused here is refused with EPERM, so that programs see an error
rather than die. Numbers are the kernel's ABI and never change.
"""

import os
import platform
import struct

EPERM, ENOSYS = 1, 38
ALLOW, ERRNO = 0x7FFF0000, 0x00050000
LD_ABS, JEQ, JGE, JSET, AND, RET = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
NR, ARCH, ARG0, ARG1, ARG2 = 0, 4, 16, 24, 32  # offsets in seccomp_data (low words on little-endian)
AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
X32_BIT = 0x40000000

# name: (x86_64, aarch64); None where the architecture lacks the call.
DENIED: dict[str, tuple[int | None, int | None]] = {
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51),
    "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430), "fsconfig": (431, 431),
    "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442), "open_tree_attr": (467, 467),
    "unshare": (272, 97), "setns": (308, 268),
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "process_madvise": (440, 440), "kcmp": (312, 272),
    "pidfd_open": (434, 434), "pidfd_getfd": (438, 438), "pidfd_send_signal": (424, 424),
    "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282), "fanotify_init": (300, 262),
    "keyctl": (250, 219), "add_key": (248, 217), "request_key": (249, 218),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "io_setup": (206, 0), "io_submit": (209, 2),
    "kexec_load": (246, 104), "kexec_file_load": (320, 294), "reboot": (169, 142),
    "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106),
    "open_by_handle_at": (304, 265), "name_to_handle_at": (303, 264), "lookup_dcookie": (212, 18),
    "swapon": (167, 224), "swapoff": (168, 225), "acct": (163, 89), "syslog": (103, 116), "quotactl": (179, 60),
    "quotactl_fd": (443, 443), "settimeofday": (164, 170), "clock_settime": (227, 112), "adjtimex": (159, 171),
    "clock_adjtime": (305, 266), "sethostname": (170, 161), "setdomainname": (171, 162), "vhangup": (153, 58),
    "iopl": (172, None), "ioperm": (173, None), "modify_ldt": (154, None), "uselib": (134, None),
    "ustat": (136, None), "sysfs": (139, None), "personality": (135, 92),
    "mbind": (237, 235), "set_mempolicy": (238, 237), "migrate_pages": (256, 238), "move_pages": (279, 239),
    "shmget": (29, 194), "msgget": (68, 186), "semget": (64, 190), "mq_open": (240, 180),
    "vmsplice": (278, 75), "landlock_create_ruleset": (444, 444), "memfd_secret": (447, 447),
    "lsm_set_self_attr": (460, 460),
}  # fmt: skip
UNKNOWN_FROM = 470  # later calls than this table knows answer "no such call"
CLONE3 = (435, 435)
CLONE = (56, 220)
SOCKET, SOCKETPAIR = (41, 198), (53, 199)
MKNOD, MKNODAT = (133, None), (259, 33)
PRLIMIT = (302, 261)
FCNTL, IOCTL = (72, 25), (16, 29)
CLONE_NEW = 0x02000000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000 | 0x00020000 | 0x00000080
FAMILIES = (1, 2, 10)  # AF_UNIX, AF_INET, AF_INET6
S_IFMT, S_IFCHR, S_IFBLK = 0o170000, 0o020000, 0o060000
F_SETOWN, F_SETOWN_EX, FIOSETOWN, SIOCSPGRP, TIOCSTI, TIOCLINUX = 8, 15, 0x8901, 0x8902, 0x5412, 0x541C


def _op(code: int, value: int, on_true: int = 0, on_false: int = 0) -> bytes:
    return struct.pack("<HBBI", code, on_true, on_false, value & 0xFFFFFFFF)


def _deny(error: int = EPERM) -> bytes:
    return _op(RET, ERRNO | error)


def _when(number: int | None, body: bytes) -> bytes:
    """``body`` for this call only. It must end in RET or reload the call's number (see _reload)."""
    if number is None:
        return b""
    return _op(JEQ, number, 0, len(body) // 8) + body


def _reload() -> bytes:
    return _op(LD_ABS, NR)


def _argument_rule(number: int | None, offset: int, test: list[bytes]) -> bytes:
    return _when(number, _op(LD_ABS, offset) + b"".join(test) + _reload())


def program(machine: str = "") -> bytes:
    """The filter for this machine ("x86_64" or "aarch64"); ValueError for another."""
    machine = machine or platform.machine()
    machine = {"arm64": "aarch64", "amd64": "x86_64"}.get(machine.lower(), machine)
    if machine not in AUDIT_ARCH:
        raise ValueError(f"no system-call filter for {machine}")
    here = 0 if machine == "x86_64" else 1
    code = [_op(LD_ABS, ARCH), _op(JEQ, AUDIT_ARCH[machine], 1, 0), _deny(), _reload()]
    if machine == "x86_64":
        code += [_op(JGE, X32_BIT, 0, 1), _deny(ENOSYS)]
    code += [_op(JGE, UNKNOWN_FROM, 0, 1), _deny(ENOSYS)]
    code += [_when(numbers[here], _deny()) for numbers in DENIED.values()]
    code += [_when(CLONE3[here], _deny(ENOSYS))]  # its flags lie in memory; libc falls back to clone
    code += [_argument_rule(CLONE[here], ARG0, [_op(JSET, CLONE_NEW, 0, 1), _deny()])]
    code += [_families(number[here]) for number in (SOCKET, SOCKETPAIR)]
    code += [_devices(MKNOD[here], ARG1), _devices(MKNODAT[here], ARG2)]
    code += [_argument_rule(PRLIMIT[here], ARG0, [_op(JEQ, 0, 1, 0), _deny()])]  # another process's limits
    code += [_values(FCNTL[here], (F_SETOWN, F_SETOWN_EX))]  # signals by way of a descriptor's owner
    code += [_values(IOCTL[here], (FIOSETOWN, SIOCSPGRP, TIOCSTI, TIOCLINUX))]
    return b"".join([*code, _op(RET, ALLOW)])


def _families(number: int | None) -> bytes:
    last = len(FAMILIES) - 1
    tests = [_op(JEQ, family, last - at + 1, 0) for at, family in enumerate(FAMILIES)]
    return _argument_rule(number, ARG0, [*tests, _deny()])


def _devices(number: int | None, offset: int) -> bytes:
    tests = [_op(AND, S_IFMT), _op(JEQ, S_IFCHR, 1, 0), _op(JEQ, S_IFBLK, 0, 1), _deny()]
    return _argument_rule(number, offset, tests)


def _values(number: int | None, values: tuple[int, ...]) -> bytes:
    tests = b"".join(_op(JEQ, value, 0, 1) + _deny() for value in values)
    return _argument_rule(number, ARG1, [tests])


def open_program() -> int:
    """A descriptor from which bwrap reads the filter. The caller closes it."""
    fd = os.memfd_create("filter", 0)
    os.write(fd, program())
    os.lseek(fd, 0, os.SEEK_SET)
    return fd
