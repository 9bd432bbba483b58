"""The parts of an installation: how each is started, when it counts as ready, how it is stopped."""

import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

from django.conf import settings

from benchwright_site.serve import probes
from benchwright_site.serve.postgres import Cluster, leashed
from benchwright_site.serve.walls.cast import Place

MANAGE = str(settings.BASE_DIR / "manage.py")
# Celery warns that root should not run it; the code that needs keeping from root runs in sandboxes, not in it.
QUIET = ["-W", "ignore:You're running the worker with superuser privileges"]


@dataclass(frozen=True)
class Part:
    """One supervised process.

    It counts as ready when ``probe`` says so, or once a line of its output contains ``ready_line``, or, with neither,
    when it has lived for a moment. ``grace`` seconds pass between ``stop`` and SIGKILL.
    """

    name: str
    command: list[str]
    stage: int  # parts of a stage start together, once those of the stage before are ready
    probe: probes.Probe | None = None
    ready_line: str | None = None
    fatal_line: str | None = None  # once it has said this it is of no use any more, whether it ends or not
    stop: signal.Signals = signal.SIGTERM
    grace: float = 5.0
    patience: float = 60.0
    descriptors: tuple[int, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


def postgres(cluster: Cluster) -> Part:
    return Part("postgres", cluster.command(), 0, probes.cluster(cluster), stop=signal.SIGINT, grace=15)


def local_model(port: int, place: Place) -> Part:
    command = leashed([sys.executable, MANAGE, "local_model", "--port", str(port)], user=place.user)
    ready = probes.http("127.0.0.1", port, "/v1/models")
    return Part("model", command, 1, ready, grace=2, patience=120, environment=place.environment)


def gateway(place: Place) -> Part:
    command = leashed([sys.executable, MANAGE, "gateway"], user=place.user)
    return Part("gateway", command, 1, probes.control(settings.GATEWAY_SOCKET), environment=place.environment)


def egress(listener: int) -> Part:
    """The socket is the supervisor's: it starts the part when somebody calls there, and callers wait meanwhile.

    It becomes another user by itself, once it has made its environment.
    """
    command = leashed([sys.executable, MANAGE, "egress", "--fd", str(listener)])
    return Part("egress", command, 1, ready_line="egress ready", grace=3, patience=900, descriptors=(listener,))


def sweeper(place: Place) -> Part:
    command = leashed([sys.executable, MANAGE, "sweep"], user=place.user)
    return Part("sweeper", command, 2, ready_line="sweeper ready", grace=3, environment=place.environment)


def worker(number: int, threads: int, place: Place) -> Part:
    options = ["--pool", "threads", "--concurrency", str(threads), "--hostname", f"worker{number}@%h"]
    silence = ["--loglevel", "INFO", "--without-gossip", "--without-mingle", "--without-heartbeat"]
    command = [sys.executable, *QUIET, "-m", "celery", "-A", "benchwright_site", "worker", *options, *silence]
    return Part(
        f"worker{number}",
        leashed(command, user=place.user),
        2,
        ready_line=" ready.",
        fatal_line="Unrecoverable error",
        grace=4,
        environment=place.environment,
    )


def web(host: str, port: int, listener: int, place: Place) -> Part:
    """The listening socket is the supervisor's: while the web part restarts, callers wait instead of being refused."""
    options = ["-v", "0", "--fd", str(listener), "benchwright_site.asgi:application"]
    command = [sys.executable, "-m", "benchwright_site.web", *options]
    asked = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 (comparing, not binding)
    ready = probes.http(asked, port, "/readyz")
    told = leashed(command, user=place.user)
    return Part("web", told, 3, ready, grace=3, descriptors=(listener,), environment=place.environment)
