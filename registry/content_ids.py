"""Ids made of content: the same bytes get the same id, wherever and whenever they are uploaded. Pure."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any

from kernel import strict_json

# 160 bits in hexadecimal: no two contents will ever share an id by chance.
_ID_CHARS = 40


# What the C encoder writes differs from the canonical form only in fractions and in the order of astral keys.
_UNSURE = re.compile(r"\d\.\d|\d[eE][-+\d]|[\U00010000-\U0010ffff]")
_sorted = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"), check_circular=False
).encode


def row_digest(row: Mapping[str, Any]) -> str:
    """SHA-256 of one task row's canonical JSON: key order and whitespace don't count, every value does."""
    text = _sorted(row)
    raw = strict_json.canonical(row) if _UNSURE.search(text) else text.encode()
    return sha256(raw).hexdigest()


def subset_id(benchmark_id: str, digests: Iterable[str]) -> str:
    """``sub_…`` of a benchmark and its rows' digests, in order (order decides what a limit of n tasks takes)."""
    whole = sha256(f"subset 1\n{benchmark_id}\n".encode())
    for digest in digests:
        whole.update(f"{digest}\n".encode())
    return f"sub_{whole.hexdigest()[:_ID_CHARS]}"


def impl_id(
    subset: str,
    code: str,
    pass_threshold: float,
    network: Sequence[str],
    judge: Mapping[str, Any] | None,
    isolation: str,
) -> str:
    """``imp_…`` of everything that decides a score. The order of ``network`` doesn't count."""
    facts = [subset, code, float(pass_threshold), sorted(set(network)), judge, isolation]
    return f"imp_{sha256(b'impl 1' + strict_json.canonical(facts)).hexdigest()[:_ID_CHARS]}"
