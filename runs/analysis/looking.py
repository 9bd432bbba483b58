"""What the values of a column are like."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Row = Mapping[str, Any]
SAMPLE = 400  # rows that are looked at for the kind of a column
_NUMBER = re.compile(r"[\s$€£]*[-−+]?(?:\d[\d,]*\.?\d*|\.\d+)(?:e[-+]?\d+)?(?:\s*/\s*\d+)?\s*%?\s*", re.IGNORECASE)
_MARKED = re.compile(r"####\s*[-−+$]?[\d,.]+\s*$")
_LETTER = re.compile(r"[\s(\[]*([A-Z])[\s)\].]*")
BOXED = "\\boxed"


@dataclass(frozen=True)
class Column:
    """A column's values in the sample, nulls and empty texts left out; ``share``: how many rows have one."""

    name: str
    values: list[Any]
    share: float

    def all(self, *kinds: type) -> bool:
        """Whether every value is of one of these types; truth values count as numbers only where bool is asked for."""
        return bool(self.values) and all(
            isinstance(value, kinds) and (not isinstance(value, bool) or bool in kinds) for value in self.values
        )

    @property
    def is_text(self) -> bool:
        return self.all(str)

    @property
    def distinct(self) -> set[str]:
        return {value if isinstance(value, str) else json.dumps(value) for value in self.values}

    def words(self) -> float:
        """The median number of words of its texts."""
        lengths = sorted(len(str(value).split()) for value in self.values)
        return lengths[len(lengths) // 2] if lengths else 0

    def share_of(self, form: re.Pattern[str]) -> float:
        texts = [value if isinstance(value, str) else json.dumps(value) for value in self.values]
        return sum(form.fullmatch(text) is not None for text in texts) / len(texts) if texts else 0.0

    def numeric(self) -> float:
        """The share of values that are one number, or end in one as GSM8K's do."""
        return sum(map(is_number, self.values)) / len(self.values) if self.values else 0.0

    def letters(self) -> float:
        return self.share_of(_LETTER) if self.is_text else 0.0


def columns(rows: Sequence[Row]) -> dict[str, Column]:
    """Every column of the rows, in the order in which they first appear."""
    sample = rows if len(rows) <= SAMPLE else [rows[at * len(rows) // SAMPLE] for at in range(SAMPLE)]
    names = Counter(name for row in sample for name in row)
    order = list(dict.fromkeys(name for row in sample for name in row))
    found = {}
    for name in order:
        values = [row[name] for row in sample if name in row and not empty(row[name])]
        if names[name]:
            found[name] = Column(name, values, len(values) / len(sample))
    return found


def empty(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip()) or value in ([], {})


def is_number(value: Any) -> bool:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return True
    if not isinstance(value, str):
        return False
    return _NUMBER.fullmatch(value) is not None or _MARKED.search(value) is not None


def texts(value: Any) -> list[str] | None:
    """A list of short texts or numbers as texts; None where it is none."""
    if not isinstance(value, list) or len(value) < 2:
        return None
    if not all(isinstance(each, (str, int, float)) and not isinstance(each, bool) for each in value):
        return None
    return [str(each) for each in value]


def shown(value: Any) -> str:
    """A short piece of a value, for people."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = " ".join(text.split())
    return text if len(text) <= 80 else text[:79] + "…"


def examples(found: Mapping[str, Column]) -> list[dict[str, Any]]:
    """What was seen: each column with two of its values."""
    return [
        {"name": column.name, "examples": list(dict.fromkeys(map(shown, column.values)))[:2]}
        for column in list(found.values())[:60]
    ]
