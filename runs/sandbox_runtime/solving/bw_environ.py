"""os.environ as each task should see it: one process serves many tasks, each with a key of its own."""

import contextvars
import os
import sys
import threading

import bw_log
from bw_imports import after_import

KEY = "BW_MODEL_PROXY_KEY"
TRUSTING = (
    "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "PIP_CERT", "GIT_SSL_CAINFO",
    "AWS_CA_BUNDLE",
)  # fmt: skip

current_key: contextvars.ContextVar = contextvars.ContextVar("bw_key", default=None)
current_log: contextvars.ContextVar = contextvars.ContextVar("bw_log", default=None)


class TaskEnviron(os._Environ):
    """os.environ in which BW_MODEL_PROXY_KEY is the running task's."""

    def __getitem__(self, name):
        if name == KEY:
            key = current_key.get()
            if key is not None:
                return key
        return super().__getitem__(name)


def lead_out(port: int, token: str, trust: str) -> None:
    """Show the way to hosts on the network as clients of all kinds look for it: a proxy, and whom to trust."""
    proxy = f"http://run:{token}@127.0.0.1:{port}"
    here = "127.0.0.1,localhost,::1"  # the gateway
    for name, value in (("HTTP_PROXY", proxy), ("HTTPS_PROXY", proxy), ("NO_PROXY", here)):
        os.environ[name] = os.environ[name.lower()] = value
    for name in TRUSTING:
        os.environ[name] = trust
    os.environ["NODE_USE_ENV_PROXY"] = "1"


def install(url: str) -> None:
    """Give this process the task's view of the environment, threads, children and output."""
    os.environ["BW_MODEL_PROXY_URL"] = url
    old = os.environ
    os.environ = TaskEnviron(old._data, old.encodekey, old.decodekey, old.encodevalue, old.decodevalue)
    sys.stdout = bw_log.TaskOutput(sys.stdout, current_log.get)
    sys.stderr = bw_log.TaskOutput(sys.stderr, current_log.get)
    _carry_context_into_threads()
    after_import("concurrent.futures.thread", _carry_context_into_pools)
    after_import("subprocess", _show_children_the_key)


def _carry_context_into_threads() -> None:
    start = threading.Thread.start

    def start_here(self):
        run, context = self.run, contextvars.copy_context()
        self.run = lambda: context.run(run)
        return start(self)

    threading.Thread.start = start_here


def _carry_context_into_pools(module) -> None:
    submit = module.ThreadPoolExecutor.submit

    def submit_here(self, function, /, *args, **options):
        return submit(self, contextvars.copy_context().run, function, *args, **options)

    module.ThreadPoolExecutor.submit = submit_here


def _show_children_the_key(module) -> None:
    begin = module.Popen.__init__
    at = 10  # position of env among Popen's arguments after args

    def begin_here(self, args, *rest, **options):
        if options.get("env") is None and len(rest) < at and current_key.get() is not None:
            options["env"] = os.environ.copy()
        begin(self, args, *rest, **options)

    module.Popen.__init__ = begin_here

    def system(command):
        code = module.call(command, shell=True)
        return code << 8 if code >= 0 else -code

    os.system = system
