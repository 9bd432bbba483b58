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


def _numbers() -> dict[str, int]:
    """The longest first, so that a pattern of them takes all of "twenty-five"."""
    said: dict[str, int] = dict(_SAID["numbers"])
    units = [(word, value) for word, value in said.items() if value < 10 and word.isascii()]
    for ten in _SAID["tens"]["english"].split():
        said |= {f"{ten}{joint}{word}": said[ten] + value for word, value in units for joint in "- "}
    for ten in _SAID["tens"]["german"].split():
        said |= {f"{word}und{ten}": said[ten] + value for word, value in said.items() if value < 10}
    hundreds = {word: value for word, value in units if word in _SAID["tens"]["hundreds"].split()}
    said |= {f"{word} {of}": value * count for word, value in hundreds.items() for of, count in _OF.items()}
    return dict(sorted(said.items(), key=lambda one: -len(one[0])))


_OF = {"hundred": 100, "dozen": 12, "thousand": 1000}
NUMBERS: dict[str, int] = _numbers()
