"""The first thing that runs in a sandbox: takes the start message, becomes one of the three roles.

Started as ``python -P -s -S bw_main.py <fd>``; the descriptor is the only one it is told. What the role may
do is decided by the walls around this process, never by this code.
"""

import sys

HERE = __file__.rpartition("/")[0]
sys.path.insert(0, HERE)

import os  # noqa: E402
import resource  # noqa: E402

import bw_channel  # noqa: E402
import bw_imports  # noqa: E402


def main() -> None:
    channel = bw_channel.Channel(int(sys.argv[1]))
    start = channel.receive()[0]
    del sys.argv[1:]
    channel.nonce = start["nonce"]
    os.umask(0o077)
    limit(start["limits"])
    sys.path.insert(1, start["site"])
    # Every role imports the user's module, which may look at these; only solve can use them.
    os.environ["BW_MODEL_PROXY_URL"] = f"http://127.0.0.1:{start['port']}"
    os.environ["BW_MODEL_MODEL"] = start["model"]
    os.environ["BW_MODEL_PROXY_KEY"] = bw_channel.NO_TASK
    if start["role"] == "solve":
        import bw_solve as role
    elif start["role"] == "score":
        import bw_score as role
    else:
        import bw_extract as role
    if start["role"] == "solve":
        bw_imports.put_off_patterns()
    else:
        bw_imports.put_off_large_ones()
    role.run(channel, start)


def limit(limits: dict) -> None:
    """Caps by name (``RLIMIT_NOFILE``: 1024, …); a cap that can't be set must not be silently absent."""
    for name, value in limits.items():
        kind = getattr(resource, name)
        hard = resource.getrlimit(kind)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, value))


if __name__ == "__main__":
    main()
