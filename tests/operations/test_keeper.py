"""One supervised part: watched, started again, given up, stopped."""

import asyncio
import os
import signal
from collections.abc import Callable

import pytest

from benchwright_site.serve.keeper import Keeper, NeverReady, described
from benchwright_site.serve.output import Output
from benchwright_site.serve.parts import Part


def keeper(script: str, **more: object) -> Keeper:
    return Keeper(Part("part", ["/bin/sh", "-c", script], 0, **more), Output(), dict(os.environ))  # type: ignore[arg-type]


async def until(true: Callable[[], object], seconds: float = 15) -> None:
    async with asyncio.timeout(seconds):
        while not true():
            await asyncio.sleep(0.02)


async def test_it_is_ready_once_it_says_so() -> None:
    one = keeper("echo up and ready; exec sleep 60", ready_line="ready")
    one.start()
    await one.until_ready()
    await one.stop()
    assert one.process
    assert one.process.returncode == -signal.SIGTERM


async def test_it_gives_up_with_the_last_words_of_what_never_starts() -> None:
    one = keeper("echo the disk is full; exit 3", ready_line="ready")
    one.start()
    with pytest.raises(NeverReady, match="the disk is full"):
        await one.until_ready(tries=2)
    await one.stop()


async def test_it_starts_again_what_ends() -> None:
    one = keeper("echo ready; exec sleep 60", ready_line="ready")
    one.start()
    await one.until_ready()
    assert one.process
    one.process.kill()
    await until(lambda: one.starts == 2 and one.saw_ready_line.is_set())
    await one.stop()
    assert any("part ended (SIGKILL)" in line for line in one.output.last["serve"])


async def test_it_ends_a_part_that_says_it_is_of_no_use() -> None:
    one = keeper("echo ready; echo Unrecoverable error; exec sleep 60", fatal_line="Unrecoverable")
    one.start()
    await until(lambda: one.starts == 2)
    await one.stop()


async def test_it_kills_what_does_not_listen_and_all_of_its_group() -> None:
    script = "trap '' TERM; sleep 60 & echo child $!; echo ready; while :; do sleep 1; done"
    one = keeper(script, ready_line="ready", grace=0.3)
    one.start()
    await one.until_ready()
    child = next(int(line.split()[1]) for line in one.output.last["part"] if line.startswith("child"))
    await one.stop()
    with pytest.raises(ProcessLookupError):
        for _ in range(100):
            os.kill(child, 0)
            await asyncio.sleep(0.05)


def test_it_names_signals() -> None:
    assert (described(3), described(-9), described(-15)) == ("exit 3", "SIGKILL", "SIGTERM")
