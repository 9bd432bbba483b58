"""What is known beside the request's words: the caller's world. Plain values; who may see what was decided before."""

from collections.abc import Mapping
from dataclasses import dataclass, field

HUB = "huggingface:"


@dataclass(frozen=True)
class KnownSubset:
    """A subset that can run. ``slug`` and ``name`` are what people call it by.

    ``place``: the data set that the pipeline took its rows from, huggingface:owner/name or url:https://…; or "".
    """

    id: str
    slug: str
    name: str = ""
    place: str = ""


@dataclass(frozen=True)
class KnownBenchmark:
    """A benchmark of the registry with its subsets that can run. ``own``: the caller's, which may have none."""

    id: str
    name: str
    own: bool
    subsets: tuple[KnownSubset, ...] = ()

    @property
    def data_set(self) -> str:
        """The id at the Hub, owner/name, of the data set that it is of and still called by; or ""."""
        refs = (one.place.removeprefix(HUB) for one in self.subsets if one.place.startswith(HUB))
        return next((ref for ref in refs if ref.lower() == self.name.lower()), "")


@dataclass(frozen=True)
class Known:
    """``reachable``: providers that the caller has a key for, or that need none. ``connections``: name -> provider.

    ``bound``: the launch has named the model, so the words need not. ``capped``: "money", "time", "tasks" where the
    launch has a ceiling of it.
    """

    benchmarks: tuple[KnownBenchmark, ...] = ()
    reachable: frozenset[str] = frozenset()
    connections: Mapping[str, str] = field(default_factory=dict)
    bound: bool = False
    capped: frozenset[str] = frozenset()
