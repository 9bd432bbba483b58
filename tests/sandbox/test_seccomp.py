"""The system-call filter, run by a small interpreter of classic BPF, for both machines."""

import struct

import pytest

from runs.compute.walls import seccomp

ALLOW, EPERM, ENOSYS = 0x7FFF0000, 0x00050001, 0x00050026
MACHINES = {"x86_64": 0, "aarch64": 1}
# What every program needs: read, write, close, mmap, futex, exit_group, openat, execve, kill, getpid, connect.
EVERYDAY = {
    "x86_64": (0, 1, 3, 9, 202, 231, 257, 59, 62, 39, 42),
    "aarch64": (63, 64, 57, 222, 98, 94, 56, 221, 129, 172, 203),
}


def verdict(machine: str, number: int, *arguments: int, arch: int | None = None) -> int:
    """What the filter answers to this call."""
    given = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack("<IIQ6Q", number, seccomp.AUDIT_ARCH[machine] if arch is None else arch, 0, *given)
    code = seccomp.program(machine)
    steps = [struct.unpack_from("<HBBI", code, at) for at in range(0, len(code), 8)]
    at = register = 0
    for _ in range(len(steps)):
        operation, on_true, on_false, value = steps[at]
        at += 1
        if operation == seccomp.LD_ABS:
            register = struct.unpack_from("<I", data, value)[0]
        elif operation == seccomp.AND:
            register &= value
        elif operation == seccomp.RET:
            return int(value)
        else:
            tests = {seccomp.JEQ: register == value, seccomp.JGE: register >= value, seccomp.JSET: register & value}
            at += on_true if tests[operation] else on_false
    raise AssertionError("the program has no end")


@pytest.mark.parametrize("machine", MACHINES)
def test_i07_it_refuses_what_it_lists_and_lets_everyday_calls_pass(machine: str) -> None:
    here = MACHINES[machine]
    for name, numbers in seccomp.DENIED.items():
        if numbers[here] is not None:
            assert verdict(machine, numbers[here]) == EPERM, name
    for number in EVERYDAY[machine]:
        assert verdict(machine, number) == ALLOW, number


@pytest.mark.parametrize("machine", MACHINES)
def test_i07_it_looks_at_arguments(machine: str) -> None:
    here = MACHINES[machine]
    clone, socket, pair = seccomp.CLONE[here], seccomp.SOCKET[here], seccomp.SOCKETPAIR[here]
    assert verdict(machine, clone, 0x11) == ALLOW
    assert verdict(machine, clone, 0x3D0F00) == ALLOW  # a thread
    for flag in range(32):
        if seccomp.CLONE_NEW & 1 << flag:
            assert verdict(machine, clone, 0x11 | 1 << flag) == EPERM
    for family in range(48):
        assert verdict(machine, socket, family) == (ALLOW if family in seccomp.FAMILIES else EPERM)
    assert verdict(machine, pair, 1) == ALLOW
    assert verdict(machine, seccomp.CLONE3[here]) == ENOSYS
    assert verdict(machine, seccomp.MKNODAT[here], 0, 0, 0o010644) == ALLOW  # a fifo
    for kind in (0o020000, 0o060000):
        assert verdict(machine, seccomp.MKNODAT[here], 0, 0, kind | 0o666) == EPERM
    assert verdict(machine, seccomp.PRLIMIT[here], 0, 7) == ALLOW
    assert verdict(machine, seccomp.PRLIMIT[here], 5, 7) == EPERM
    assert verdict(machine, seccomp.FCNTL[here], 3, 1) == ALLOW
    assert verdict(machine, seccomp.FCNTL[here], 3, seccomp.F_SETOWN) == EPERM
    assert verdict(machine, seccomp.IOCTL[here], 1, 0x5401) == ALLOW
    assert verdict(machine, seccomp.IOCTL[here], 1, seccomp.TIOCSTI) == EPERM


def test_i07_another_abi_is_no_way_around() -> None:
    assert verdict("x86_64", 165, arch=0x40000003) == EPERM  # 32-bit calls
    assert verdict("x86_64", seccomp.X32_BIT | 165) == ENOSYS
    assert verdict("x86_64", 9999) == ENOSYS


def test_it_knows_two_machines() -> None:
    assert seccomp.program("arm64") == seccomp.program("aarch64")
    with pytest.raises(ValueError, match="riscv64"):
        seccomp.program("riscv64")
