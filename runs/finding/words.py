"""Words of a request: split, folded, compared. Latin words are told apart by what stands between them."""

import re
import unicodedata
from dataclasses import dataclass

_LATIN = "0-9A-Za-z\u00aa-\u024f\u0370-\u052f"
_WORD = re.compile(rf"[{_LATIN}]+|(?:(?![{_LATIN}])[^\W_])+")
_PLUS = re.compile(r"(?<=[0-9A-Za-z])\+(?![0-9A-Za-z+])")
_APOSTROPHE = re.compile(r"[‘’ʼ`´]")


@dataclass(frozen=True)
class Word:
    """``text`` as written, ``folded`` for comparison, and where it stands: [start, stop) of the plain text."""

    text: str
    folded: str
    start: int
    stop: int


def plain(text: str) -> str:
    """One form of each sign; a plus sign behind a name is the word: HumanEval+ -> HumanEval-plus."""
    return _PLUS.sub("-plus", _APOSTROPHE.sub("'", unicodedata.normalize("NFKC", text)))


def fold(text: str) -> str:
    """Without case and accents. Accents of other scripts stay: が is not か."""
    pieces = []
    for sign in unicodedata.normalize("NFC", text.casefold()):
        base = unicodedata.normalize("NFD", sign)
        pieces.append(base[0] if base[0].isascii() else sign)
    return "".join(pieces)


def split(text: str) -> list[Word]:
    """The words of a plain text in order."""
    return [Word(one.group(), fold(one.group()), *one.span()) for one in _WORD.finditer(text)]


def squash(text: str) -> str:
    """What two spellings of a name have in common: no case, accents, spaces, hyphens."""
    return "".join(word.folded for word in split(plain(text)))


def is_latin(name: str) -> bool:
    return all(ord(sign) < 0x0530 for sign in name)


def typo(said: str, name: str) -> bool:
    """Whether ``said`` is ``name`` with a slip of the keyboard. Both squashed. Other digits are another thing.

    Short names are often one letter apart (MMLU, KMMLU, CMMLU): there, only letters that changed places or were
    doubled are a slip. The first letter is always meant. A tail (MMLU-ProX) is no slip, nor is the beginning alone.
    """
    if said == name or abs(len(said) - len(name)) > 3 or len(name) < 4 or said[:1] != name[0]:
        return False
    if len(set(said) ^ set(name)) > 6:
        return False
    if [sign for sign in said if sign.isdigit()] != [sign for sign in name if sign.isdigit()]:
        return False
    if said.startswith(name) and said[len(name) :] != name[-1]:
        return False
    if name.startswith(said) and len(name) - len(said) > 1:
        return False
    if len(name) < 6 or len(said) < 5:
        return _swapped(said, name) or _undoubled(said) == _undoubled(name)
    allowed = 1 if len(name) < 10 else 2 if len(name) < 20 else 3
    return len(set(said) ^ set(name)) <= 2 * allowed and distance(said, name) <= allowed


def distance(one: str, other: str) -> int:
    """How many letters were left out, added, replaced or swapped with their neighbour."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, left in enumerate(one, 1):
        last, before, row = before, row, [i]
        for j, right in enumerate(other, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (left != right))
            if i > 1 and j > 1 and left == other[j - 2] and one[i - 2] == right:
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
    return row[-1]


def _swapped(said: str, name: str) -> bool:
    return len(said) == len(name) and sorted(said) == sorted(name) and distance(said, name) == 1


def _undoubled(text: str) -> str:
    return re.sub(r"(.)\1+", r"\1", text)
