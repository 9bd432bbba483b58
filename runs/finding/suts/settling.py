"""Which model is meant, and at which provider. A model's id is only taken where it is certain."""

from collections.abc import Iterator
from dataclasses import dataclass

from runs.finding.known import Known
from runs.finding.suts import places, spotting
from runs.finding.suts.makers import FAMILIES, ROUTERS, id_at
from runs.finding.suts.spotting import Said
from runs.providers import PROVIDERS

Span = tuple[int, int]


@dataclass(frozen=True)
class Chosen:
    """A model at a provider, or at one of the caller's connections. ``certain``: it is that, beyond doubt."""

    model: str
    provider: str
    certain: bool
    connection: str | None = None

    @property
    def id(self) -> str:
        return f"model:{self.model}@{self.connection or self.provider}"

    def sut(self) -> dict[str, str]:
        """{"model", "provider"} or {"model", "connection"}."""
        at = {"connection": self.connection} if self.connection else {"provider": self.provider}
        return {"model": self.model, **at}


@dataclass(frozen=True)
class Suts:
    """``choices``: what may be meant; a single certain one is. ``named``: whether any model is named at all.

    ``spans``: what of the text said so. ``slugs``: owner/name that is no model of a known maker.
    """

    choices: tuple[Chosen, ...] = ()
    named: bool = False
    spans: tuple[Span, ...] = ()
    slugs: tuple[tuple[str, Span], ...] = ()


def read(text: str, known: Known) -> Suts:
    """``text``: plain, with addresses and data sets blanked out."""
    models = spotting.models(text, known)
    spans = [one.span for one in models]
    at, beside = places.spot(text, known, spans)
    choices = [choice for one in models if one.model for choice in _choices(one, one.at or at, known)]
    single = len({one.model.casefold() for one in models}) == 1
    sure = [one for one in choices if one.certain]
    if single and sure:
        choices = sure[:1]
    elif not single:
        choices = [Chosen(one.model, one.provider, False, one.connection) for one in choices]
    unique = tuple({one.id: one for one in choices}.values())
    return Suts(unique, bool(models), (*spans, *beside), spotting.slugs(text, models))


def parse(choice: str, known: Known) -> Chosen | None:
    """The model behind the id of a choice, ``model:<model>@<provider or connection>``."""
    model, _, at = choice.removeprefix("model:").rpartition("@")
    return _at(model, at, known, certain=True) if model else None


def _choices(said: Said, at: str | None, known: Known) -> Iterator[Chosen]:
    """Where the model can be had under which id."""
    if at is not None:
        there = _at(said.model, at, known, certain=said.exact)
        if there is not None and there.connection is None:
            there = Chosen(*_id(said, there.provider))
        if there is not None:
            yield there
        return
    maker, home = FAMILIES.get(said.family, ("", ""))
    routed = [name for name in sorted(ROUTERS) if "/" in said.model or maker]
    for provider in filter(None, [*routed, home] if "/" in said.model else [home, *routed]):
        model, _, certain = _id(said, provider)
        usual = provider == home or "/" in said.model  # a bare name is not yet a router's
        yield Chosen(model, provider, certain and usual and provider in known.reachable)


def _id(said: Said, provider: str) -> tuple[str, str, bool]:
    model, certain = id_at(said.model, provider, said.family, exact=said.exact)
    return model, provider, certain


def _at(model: str, name: str, known: Known, *, certain: bool) -> Chosen | None:
    if name in PROVIDERS:
        return Chosen(model, name, certain)
    for connection, provider in known.connections.items():
        if connection.casefold() == name.casefold():
            return Chosen(model, provider, certain, connection)
    return None
