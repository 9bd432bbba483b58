"""``python -m egress --authority FILE (--fd N | --socket PATH)``: the proxy until it is told to stop."""

import argparse
import asyncio
import logging
import os
import resource
import signal
import socket
import sys
from pathlib import Path

from egress.dialling import DiallingLoop
from egress.judged import Judged
from egress.limits import Limits
from egress.link import LinkServer
from egress.proxy import Proxy
from egress.resolving import Resolver, table_of


class Faults(logging.Handler):
    """Faults inside mitmproxy, without their messages: those quote what was sent."""

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        place = ""
        if error is not None and error.__traceback__ is not None:
            last = error.__traceback__
            while last.tb_next:
                last = last.tb_next
            place = f": {type(error).__name__} at {Path(last.tb_frame.f_code.co_filename).name}:{last.tb_lineno}"
        logging.getLogger("egress").error("a fault in a connection%s", place)


def listening(arguments: argparse.Namespace) -> socket.socket:
    """The socket that the gateway connects to: handed over, or made here for our own user alone."""
    if arguments.fd is not None:
        return socket.socket(fileno=arguments.fd)
    path = Path(arguments.socket)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    old = os.umask(0o177)
    try:
        listener.bind(str(path))
    finally:
        os.umask(old)
    listener.listen(64)
    return listener


async def run(arguments: argparse.Namespace, resolver: Resolver) -> None:
    loop = asyncio.get_running_loop()
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    judged = Judged(resolver, Limits.from_environment(), verbose=os.environ.get("BENCHWRIGHT_EGRESS_LOG") == "1")
    proxy = Proxy(judged, Path(arguments.authority), os.environ.get("BENCHWRIGHT_EGRESS_TRUST") or None)
    loop.set_exception_handler(lambda _loop, context: Faults().handle(_record(context)))
    links = LinkServer(listening(arguments), proxy)
    looking = loop.create_task(judged.look_forever())
    sys.stdout.write("egress ready\n")
    sys.stdout.flush()
    await stopping.wait()
    links.close()
    looking.cancel()


def _record(context: dict[str, object]) -> logging.LogRecord:
    error = context.get("exception")
    info = (type(error), error, error.__traceback__) if isinstance(error, BaseException) else None
    return logging.LogRecord("egress", logging.ERROR, "", 0, "", (), info)


def main() -> None:
    parser = argparse.ArgumentParser(prog="egress")
    parser.add_argument("--authority", required=True, help="key and certificate of the installation's authority")
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--fd", type=int, help="a listening socket for the gateway, inherited")
    where.add_argument("--socket", help="the path of one to make")
    arguments = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # memory holds keys
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
    for name in ("mitmproxy", "asyncio"):
        logger = logging.getLogger(name)
        logger.propagate = False
        logger.setLevel(logging.ERROR)
        logger.addHandler(Faults())
    resolver = Resolver(table_of(os.environ.get("BENCHWRIGHT_EGRESS_HOSTS", "")))
    DiallingLoop.resolver = resolver
    with asyncio.Runner(loop_factory=DiallingLoop) as runner:
        runner.run(run(arguments, resolver))


if __name__ == "__main__":
    main()
