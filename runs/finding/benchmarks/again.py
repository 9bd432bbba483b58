"""A data set that the caller has run before: their own benchmark of its rows is the same reading, and no rival to it.

The data set goes on as the source, so that the same words come to the same rows whether it is the first time or the
tenth: Analyze finds the subset that holds them (and another config, split or revision becomes another subset).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from runs.finding import datasets
from runs.finding.benchmarks.names import STRONG, Mention, Target
from runs.finding.benchmarks.overlaps import Words
from runs.finding.datasets import Named
from runs.finding.known import Known, KnownBenchmark


def spelled(outright: Sequence[Named], known: Known) -> list[Named]:
    """With the ids of data sets as the caller's own benchmarks have them: the Hub does not tell cases apart."""
    held = _held(known)
    return [replace(one, ref=held.get(place_of(one), one.ref)) for one in outright]


def joined(said: Words, found: Sequence[Mention], outright: Sequence[Named]) -> tuple[list[Mention], list[Named]]:
    """(mentions, data sets), each data set once, and without mentions of benchmarks that hold its rows.

    The name that the pipeline gave a benchmark, owner/name, means its data set; so does the name alone.
    """
    by_name = [each for one in found for each in _as_data_set(said, one)]
    merged = {place_of(one): one for one in (*by_name, *outright)}  # what is written as a data set tells more of it
    kept = []
    for one in found:
        targets = tuple(target for target in one.targets if not _holds(said, one, target, merged))
        if targets:
            kept.append(replace(one, targets=targets))
    return kept, list(merged.values())


def place_of(named: Named) -> str:
    """huggingface:owner/name, in any case; url:https://…"""
    return _folded(f"{named.kind}:{named.ref}")


def benchmark_of(known: Known, kind: str, ref: str) -> KnownBenchmark | None:
    """The caller's own benchmark that holds rows of the data set."""
    place = _folded(f"{kind}:{ref}")
    own = (one for one in known.benchmarks if one.own)
    return next((one for one in own if any(_folded(each.place) == place for each in one.subsets)), None)


def _folded(place: str) -> str:
    return place.lower() if place.startswith("huggingface:") else place


def _held(known: Known) -> Mapping[str, str]:
    places = (each.place for one in known.benchmarks if one.own for each in one.subsets if each.place)
    return {_folded(place): place.partition(":")[2] for place in places}


def _as_data_set(said: Words, mention: Mention) -> Iterator[Named]:
    if mention.weight < STRONG or len(mention.targets) != 1 or mention.part is not None:
        return
    target = mention.targets[0]
    if target.entry is not None or not target.known.own:
        return
    named = Named("huggingface", target.known.data_set, (mention.start, mention.stop))
    if named.ref and _holds(said, mention, target, {place_of(named): named}):
        yield datasets.detailed(named, said.text)


def _holds(said: Words, mention: Mention, target: Target, places: Mapping[str, Named]) -> bool:
    """Whether the target's subsets, or the ones of them that the words name, have rows of one of the data sets."""
    if target.entry is not None:
        return False
    wanted = {mention.part} if mention.part else {hit.slug for hit in said.hits(target, mention)}
    held = [one for one in target.known.subsets if not wanted or one.id in wanted]
    return any(_folded(one.place) in places for one in held)
