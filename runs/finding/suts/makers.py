"""Who makes which models, and how a model is called where. Data: data/models.toml, and the providers' price lists."""

import re
import tomllib
from functools import cache
from pathlib import Path

from runs.providers import PROVIDERS
from runs.providers.prices import PRICES

_SAID = tomllib.loads((Path(__file__).parents[1] / "data" / "models.toml").read_text(encoding="utf-8"))
# Family -> (its maker's name at routers, the provider that its maker runs itself)
FAMILIES: dict[str, tuple[str, str]] = {name: (one["routers"], one["home"]) for name, one in _SAID["families"].items()}
MAKERS = frozenset(_SAID["makers"].split())
OTHER_NAMES: dict[str, str] = _SAID["providers"]
ROUTERS = frozenset(name for name, one in PROVIDERS.items() if "routes" in one.quirks)
# Whose ids always have a slash, so that a name without one is none of theirs.
SLASHED_IDS = frozenset({"together", "fireworks"})
# A family alone that is a model nevertheless.
WHOLE = frozenset({"o1", "o3", "o4"})


def family(model: str) -> str:
    name = model.rsplit("/", 1)[-1].lower()
    return next((one for one in FAMILIES if re.match(rf"{one}(?![a-z])|{one}(?=\d|-|$)", name)), "")


def spelled(said: str, home: str) -> tuple[str, bool]:
    """A model's name as ids are written, and whether that is certain: "GPT-4o mini" -> gpt-4o-mini."""
    plain = re.sub(r"\s+", "-", said.lower())
    if " " not in said:
        return (plain if said != plain and is_listed(home, plain) else said), said == plain or is_listed(home, plain)
    dashed = plain.replace(".", "-")
    if not is_listed(home, plain) and is_listed(home, dashed):
        return dashed, False
    return plain, is_listed(home, plain)


def id_at(model: str, provider: str, known_family: str, *, exact: bool) -> tuple[str, bool]:
    """The model's id at the provider, and whether it is that for certain.

    Routers want the maker's name before it; the maker itself does not.
    """
    maker, home = FAMILIES.get(known_family, ("", ""))
    if provider in ROUTERS and "/" not in model:
        model, exact = (f"{maker}/{model}", exact) if maker else (model, False)
    elif provider == home and model.lower().startswith(f"{maker}/"):
        model = model.split("/", 1)[1]
    elif provider in SLASHED_IDS and "/" not in model:
        exact = False
    return model, exact or is_listed(provider, model)


def is_listed(provider: str, model: str) -> bool:
    return (provider, model.lower()) in _listed()


@cache
def _listed() -> frozenset[tuple[str, str]]:
    return frozenset((provider, model) for provider, prices in PRICES.items() for model in prices)
