"""Words of requests that name nothing by themselves, in the languages that people write in (data/vocabulary.toml)."""

import tomllib
from pathlib import Path

_SAID = tomllib.loads((Path(__file__).parent / "data" / "vocabulary.toml").read_text(encoding="utf-8"))


def _words(name: str) -> frozenset[str]:
    return frozenset(_SAID[name].split())


FILLERS = _words("fillers")
QUALIFIERS = _words("qualifiers")
LANGUAGES = _words("languages")
OTHER_LANGUAGES = _words("other_languages")
CODE_LANGUAGES = _words("code_languages")
LINKS = _words("links")
NARROWING = _words("narrowing")
EITHER_OR = _words("either_or") | FILLERS
OR = _words("or")
MANNERS = _words("manners")
SAMPLES = _words("samples")
TRIALS = _words("trials")
NUMBERS: dict[str, int] = _SAID["numbers"]
