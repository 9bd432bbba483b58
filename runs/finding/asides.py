"""What a request wants beside a benchmark, a model and a number, and that a run does not do.

Nothing of it may get lost: it is refused, asked about, or told in a note. Patterns are in the languages of
data/vocabulary.toml.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from runs.finding.vocabulary import FILLERS, NUMBERS, SAMPLES
from runs.finding.words import fold, split, squash

Span = tuple[int, int]
_I = re.IGNORECASE
_N = rf"(?:\d+(?:[.,]\d+)?|{'|'.join(NUMBERS)})"
_COUNTABLE = "|".join(sorted(SAMPLES - {"limit"}, key=len, reverse=True))
_UP_TO = (
    r"(?:\b(?:for|spend(?:ing)?|stop after|within|under|up to|no more than|less than|at most|max(?:imum|imal|\.)?|"
    r"für|höchstens|bis zu|maximal|за|не более|до|pour|au plus|jusqu'à|por|como máximo|al massimo|no máximo|"
    r"(?:with )?an? budget of|budget(?: of)?)\s*[:=]?\s*)*"
)
# Without those that are words: sek, try.
_CODES = "usd|eur|gbp|chf|jpy|cny|rmb|inr|aud|cad|nzd|nok|dkk|pln|czk|huf|brl|mxn|rub|krw|zar|hkd|sgd"
_COINS = (
    r"yen|yuan|(?:swiss |schweizer )?(?:francs?|franken|franchi)|pence|penn(?:y|ies)|quid|rupees?|rupien|"
    r"rubles?|roubles?|рубл(?:ей|я|ь)|(?:swedish |norwegian |danish )?kron(?:or|er|en)|zł|złot\w*|zloty|"
    r"reais|pesos?|lira|rappen"
)
_MONEY = re.compile(
    rf"{_UP_TO}(?:(?:US|U\.S\. ?|HK|NZ|R|A|C|S)?[$€£¥₹₽₩₺₴₫฿]\s?\d+(?:[.,]\d+)?k?|"
    rf"\b(?:{_CODES})\s?\d+(?:[.,]\d+)?(?![\w%])|"
    rf"(?<![A-Za-z0-9.,]){_N}\s*-?(?:US)?(?:[¢$€£¥₹₽₩₺₴₫฿]|(?:{_CODES}|{_COINS}|cents|dollars?|dólar(?:es)?|dollari|usd|bucks?|"
    rf"euros?|eur|pounds?|gbp|"
    r"центов|долларов|евро|доллара)\b|美元|美分|欧元|ドル|セント|ユーロ|元|円)|(?<![\w.,])\d+\s*-?cents?\b)|"
    r"\b(?:budget|cost|spend(?:ing)?|kosten|coût|costo|presupuesto|orçamento)(?:\s*[:=]|"
    r"\s+(?:of|is|at most|under|below|up to|max\w*))*"
    r"\s+(?:\d+(?:[.,]\d+)?)(?![\w%]|\s*[^\W\d])",
    _I,
)
_TIME = re.compile(
    rf"{_UP_TO}(?<![A-Za-z0-9.,]){_N}\s*-?(?:(?:seconds?|secs?|minutes?|mins?|hours?|hrs?|days?|sekunden?|minuten?|stunden?|"
    r"secondes?|heures?|segundos?|minutos?|horas?|secondi|minuti|ore|секунд\w?|минут\w?|часов|часа?)\b|"
    r"秒|分钟|分鐘|小时|小時|時間|分間)",
    _I,
)
_PLACES: tuple[str, ...] = (
    r"\b(?:skip(?:ping)?|omit(?:ting)?|überspring\w*|sauter?|en sautant|saltar?|saltando|pular|"
    r"пропус\w+)\b|跳过|跳過",
    rf"\b(?:last|final|letzten?|derni(?:ères|ers)|últim[ao]s|ultim[ei]|последни[ех])\s+(?:{_N}|"
    rf"{_COUNTABLE})\b|最后|最後の",
    r"\b(?:hardest|easiest|longest|shortest|trickiest|(?:most|least|more) difficult|schwersten|"
    r"schwierigsten|leichtesten|"
    r"plus (?:difficiles|faciles|dures)|más (?:difíciles|fáciles)|più (?:difficili|facili)|mais difíceis|"
    r"самых сложных|сложнейших)\b|最难|最難|最简单|難しい",
    r"\b(?:random(?:ly)?|arbitrary|zufällig\w*|aléatoire\w*|au hasard|aleat[oó]ri[ao]\w*|aleatoriamente|al azar|"
    r"casual[ie]|a caso|случайн\w*)\b(?! seed)|随机|隨機|ランダム",
    rf"\b(?:from|between|von|de|du|entre|da|{_COUNTABLE}|numbers?|nos?\.?|ids?)\s*#?\d+\s*(?:to|"
    rf"and|through|until|bis|à|a|al|até|-|–|—)\s*#?\d+\b",
    rf"(?<![\w.-])#?\d+(?:th|st|nd|rd)?\s*(?:to|through|until|bis|à|al|até|-|–|"
    rf"—)\s*(?:the )?#?\d+(?:th|st|nd|rd)?\s+(?:{_COUNTABLE})\b",
    r"(?<![\w.,-])\d+\s*(?:到|至|から)\s*第?\d+",
    r"\bevery\s+(?:\d+(?:st|nd|rd|th)?|other|second|third|fourth|fifth|tenth)\b|"
    r"\bjede[rsn]?\s+(?:zweite|dritte|fünfte|zehnte|\d+\.)|"
    r"\b(?:\d+|one|1)\s+(?:in|out of)(?: every)? (?:\d+|two|three|four|five|ten)\b|"
    r"\bun[ae]? (?:sur|cada) \w+|\bcada\s+\d+|每隔",
    rf"(?<![\w.)\]])[-−–]\d+\s*(?:{_COUNTABLE})\b",
    r"\b(?:starting|start|begin|beginning|from|after|offset|ab|à partir de|desde|"
    r"a partir d[ae])\s*(?:at|with|from|by|=|:)?\s*(?:the )?"
    rf"(?:offset|{_COUNTABLE}|number|#)\s*(?:number\s*)?#?\d+|\boffset\s*[=:]?\s*\d+",
    r"\b(?:second|other|last|middle|latter) half\b",
    r"第[0-9一二三四五六七八九十]+[道个個]?(?:题|題|问|問)",
)
_ABOUT = re.compile(
    rf"\b(?:{_COUNTABLE}|ones|those)\s+(?:that (?:are|deal|talk)\s+)?(?:about|concerning|"
    rf"mentioning|involving|containing|"
    r"regarding|with the word|über|acerca de|à propos d[eu']|sobre|riguardanti|про|"
    r"о)\s+(?:the\s+)?(?P<what>[^\W\d_]+)|关于|關於|について",
    _I,
)
_CHANGED = re.compile(
    r"\b(?:(?:shuffl|permut|reorder|randomi[sz]|scrambl)(?:e|ed|ing)\s+(?:the\s+)?(?:order|"
    r"options?|choices|answers?|questions?)\w*|"
    r"(?:options?|choices|answers?|questions?)\s+(?:are\s+)?(?:shuffled|permuted|reordered|scrambled)|"
    r"(?:gemischte[nr]?|vertauschte[nr]?) (?:antworten|optionen)|(?:options|réponses) mélangées|opciones mezcladas|"
    r"adversarial(?:ly)?|adversariell\w*|typos?|misspell\w*|tippfehlern?|fautes de frappe|erratas|"
    r"perturb\w*|paraphras\w*|rephras\w*|reworded|obfuscat\w*|noisy|(?:with )?noise|translated|"
    r"übersetzt|traduit\w*|traducid\w*)(?!\w)|"
    r"打乱|翻译|对抗",
    _I,
)
_NOTED = (
    r"(?:\b(?:without|with|using|w/o|w/|no|ohne|mit|sans|avec|sin|con|senza)\s+)?(?:\b(?:an?|"
    r"the|une?|eine[nmr]?|el|la)\s+)?",
    r"(?:chain[- ]of[- ]thoughts?|(?<![\w-])cot(?!\w)|step[- ]by[- ]step(?: reasoning|"
    r" thinking)?|schritt für schritt|"
    r"étape par étape|paso a paso|思维链|系统提示词?)",
    r"(?:(?:custom |different |other |own )?system[- ]?(?:prompts?|messages?|nachricht))",
    r"(?:\b\d+\s+(?:parallel|concurrent|simultaneous)\s+(?:requests?|calls?|workers?|connections?|threads?)|"
    r"(?:parallel|concurrent) (?:requests|workers|connections)|concurrency\s*(?:of|=|:)?\s*\d+|"
    r"\d+\s+(?:workers|threads))",
    r"(?:(?:at most|max(?:imum|imal|\.)?|up to|no more than|höchstens|jusqu'à|como máximo)\s*\d+\s*"
    r"(?:attempts?|retries|tries|versuchen?|tentatives|intentos)|\b(?:retry|"
    r"retries)(?:\s*[=:]?\s*\d+)?(?:\s+times)?)",
)
_NOTES = re.compile(rf"{_NOTED[0]}(?P<said>{'|'.join(_NOTED[1:])})", _I)
# Words that leave something out whatever follows, and those that do where a part of the benchmark does.
_LEFT_OUT = re.compile(
    r"\b(?:but not|all but|(?:everything|anything|every \w+|all \w+) but|other than|"
    r"except(?:ing|ed)?|exclud(?:e[ds]?|ing)|exclusive of|"
    r"minus|apart from|aside from|leav(?:e|es|ing) out|left out|barring|save for|außer|ausser|"
    r"ausgenommen|ausgeschlossen|bis auf|"
    r"sauf|hormis|excepté|à l'exception|à part|mais pas|excepto|exceptuando|excluyendo|salvo|pero no|tranne|eccetto|"
    r"esclus[oaie]|ma non|exceto|excluindo|mas não|tirando|behalve|кроме|за исключением|исключая)(?!\w)|"
    r"除了|除外|除く|を除|以外|之外|不包括|不包含|不含|不要|排除|抜き",
    _I,
)
_MAYBE_OUT = re.compile(
    r"(?:\b(?:without|not|no|skip(?:ping)?|omit(?:ting)?|drop(?:ping)?|ignor(?:e|ing)|"
    r"rather than|instead of|ohne|nicht|kein\w*|"
    r"statt|sans|pas(?: de)?|sin|no|senza|non|sem|não|zonder|без|не)\b|w/o)",
    _I,
)
_BEHIND = re.compile(r"\W{0,3}(?:is |are |ist |sind )?(?:not|nicht|out|weg)\b(?! only)", _I)

COUNTED = frozenset(("money", "time", "place", "note"))  # whose numbers are no number of samples


@dataclass(frozen=True)
class Aside:
    """``kind``: "money", "time", "place" (which of the samples), "topic", "changed", or "note"."""

    kind: str
    said: str
    span: Span


def read(text: str) -> list[Aside]:
    """``text``: plain, with models, data sets and harnesses blanked out."""
    found: list[Aside] = []
    for kind, pattern in _PATTERNS:
        for one in pattern.finditer(text):
            start, stop = one.span()
            if kind == "topic" and one["what"] and fold(one["what"]) in FILLERS:
                continue
            if not any(start < other.span[1] and other.span[0] < stop for other in found):
                found.append(Aside(kind, one.group().strip(), (start, stop)))
    return found


_PATTERNS = (
    ("money", _MONEY),
    ("time", _TIME),
    ("note", _NOTES),
    ("changed", _CHANGED),
    *(("place", re.compile(one, _I)) for one in _PLACES),
    ("topic", _ABOUT),
)


def left_out(text: str, names: frozenset[str], parts: Sequence[Span]) -> str:
    """The words that leave a part out, or "". ``names``: squashed, of the parts; ``parts``: where one is said."""
    strong = _LEFT_OUT.search(text)
    if strong:
        return _said(text, strong.span())
    for one in _MAYBE_OUT.finditer(text):
        near = [start for start, _ in parts if start >= one.end()]
        led = any(not _telling(text[one.end() : start]) for start in near)
        if led or _begins(text[one.end() : one.end() + 120], names):
            return _said(text, one.span())
    for start, stop in parts:
        if _BEHIND.match(text, stop):
            return text[start : stop + 4].strip()
    return ""


def _telling(text: str) -> list[str]:
    return ["|"] if "|" in text else [word.text for word in split(text) if word.folded not in FILLERS]


def _begins(text: str, names: frozenset[str]) -> bool:
    words = [word.text for word in split(text)]
    while words and fold(words[0]) in FILLERS:
        words = words[1:]
    return any(squash(" ".join(words[:count])) in names for count in range(1, min(len(words), 7) + 1))


def _said(text: str, span: Span) -> str:
    return f"{text[span[0] : span[1]]}{text[span[1] : span[1] + 30].split('|')[0].rstrip()}".strip()


def in_another_currency(said: str) -> bool:
    """Whether a sum of money names a currency that is not the US dollar; a bare number names none."""
    signs = re.sub(r"[\d.,\s:=-]", "", said)
    foreign = re.search(rf"[€£¥₹₽₩₺₴₫฿元円]|(?:HK|NZ|R|A|C|S)\$|\b(?:{_COINS}|euros?|pounds?)\b|евро|ユーロ", said, _I)
    codes = [one for one in re.findall(rf"(?<![A-Za-z])({_CODES})(?![A-Za-z])", said, _I) if one.lower() != "usd"]
    return bool(signs) and (bool(codes) or (foreign is not None and "美元" not in said))


def numbers(said: str) -> list[int]:
    """Those above zero that stand in an aside."""
    return [int(one) for one in re.findall(r"(?<![\d.,])\d{1,6}(?![\d.,%])", said) if int(one)]
