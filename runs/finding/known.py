"""What is known beside the request's words: the caller's world. Plain values; who may see what was decided before."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class KnownSubset:
    """A subset that can run. ``slug`` and ``name`` are what people call it by."""

    id: str
    slug: str
    name: str = ""


@dataclass(frozen=True)
class KnownBenchmark:
    """A benchmark of the registry with those of its subsets that can run. ``own``: the caller's."""

    id: str
    name: str
    own: bool
    subsets: tuple[KnownSubset, ...] = ()


@dataclass(frozen=True)
class Known:
    """``reachable``: providers that the caller has a key for, or that need none. ``connections``: name -> provider.

    ``bound``: the launch has named the model, so the words need not. ``capped``: "money", "time" where the launch has
    a ceiling of it.
    """

    benchmarks: tuple[KnownBenchmark, ...] = ()
    reachable: frozenset[str] = frozenset()
    connections: Mapping[str, str] = field(default_factory=dict)
    bound: bool = False
    capped: frozenset[str] = frozenset()
