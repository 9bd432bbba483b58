"""Comparing texts: their normal form, and whether one stands in another as whole words."""

import re
import unicodedata

from registry.graders.kit.common import GRADER

# --- kit ---

SPACES = "".join(
    map(chr, [*range(9, 14), *range(28, 33), 133, 160, 5760, *range(8192, 8203), 8232, 8233, 8239, 8287, 12288])
)
EDGES = SPACES + "\"'`*_.,;:!?“”‘’«»()[]{}<>。，"

# Letters of scripts that set no space between words, or join particles to them: Thai, Lao, Tibetan, Burmese, Khmer,
# Korean, Japanese, Chinese. Their digits are left out.
SPACELESS = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ecd\u0f40-\u0fbc\u1000-\u103f\u1050-\u108f\u1780-\u17d3"
    "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af\u3005-\u3007\u3041-\u30ff\u31f0-\u31ff\uff66-\uff9f"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
SPACED = rf"[^\W{SPACELESS}]"
SIGN, CURRENCY = "[-−–]", "[$€£¥]"
UNJOINED = rf"(?:[^\w)\]−–-]|[{SPACELESS}])"  # before a dash: makes it a sign, not a hyphen or a range
ANYWHERE = re.compile("")
WORD_BEGINS = re.compile(rf"(?<!{SPACED})")
WORD_ENDS = re.compile(rf"(?!{SPACED})")
UNSIGNED = rf"(?<!\A{SIGN})(?<!{UNJOINED}{SIGN})(?<!\A{SIGN}{CURRENCY})(?<!{UNJOINED}{SIGN}{CURRENCY})"
AMOUNT_BEGINS = re.compile(UNSIGNED)
NUMBER_BEGINS = re.compile(rf"{WORD_BEGINS.pattern}{UNSIGNED}(?<!\d[.,])(?<!\A\.)(?<![\s($€£¥=+−–-]\.)")
NUMBER_ENDS = re.compile(rf"{WORD_ENDS.pattern}(?![.,]\d)")
IN_NUMBER = re.compile(r"(?<=\d)[.,](?=\d)|(?<![\w.)\]-])-?\.(?=\d)|(?<![\w.)\]-])-(?=\d)")


def normal(text):
    """Text as the grader compares it."""
    how = GRADER["normalise"]
    text = unicodedata.normalize("NFC", text)
    if how["ignore_punctuation"]:
        text = without_punctuation(text)
    if how["trim_punctuation"]:
        text = trimmed(text)
    if how["ignore_whitespace"]:
        text = " ".join(text.split())
    return text.casefold() if how["ignore_case"] else text


def without_punctuation(text):
    """Spaces for all punctuation but the sign, point and commas of numbers."""
    blank = {ord(sign): " " for sign in set(text) if unicodedata.category(sign)[0] == "P"}
    parts, at = [], 0
    for kept in IN_NUMBER.finditer(text):
        parts += [text[at : kept.start()].translate(blank), kept.group(0)]
        at = kept.end()
    return "".join([*parts, text[at:].translate(blank)])


def trimmed(text):
    """Without punctuation at both ends; the point of .5 stays."""
    bare = text.lstrip(EDGES)
    at = len(text) - len(bare)
    pointed = bare[:1].isdecimal() and text[max(at - 2, 0) : at].endswith(".") and text[max(at - 2, 0) : at] != ".."
    return ("." if pointed else "") + bare.rstrip(EDGES)


def has_words(text, piece):
    """Whether ``piece`` stands in ``text`` as whole words: no part of a longer word or of another number."""
    begins, ends = boundaries(piece)
    at = text.find(piece) if piece else -1
    while at >= 0:
        if begins.match(text, at) and ends.match(text, at + len(piece)):
            return True
        at = text.find(piece, at + 1)
    return False


def boundaries(piece):
    """(what must hold where ``piece`` begins, and where it ends), as patterns of no width."""
    if re.match(r"\.?\d", piece):
        begins = NUMBER_BEGINS
    elif re.match(rf"{CURRENCY}\.?\d", piece):
        begins = AMOUNT_BEGINS
    else:
        begins = WORD_BEGINS if re.match(rf"{SPACED}|[-+−–]\.?\d", piece) else ANYWHERE
    if re.search(r"\d\Z", piece):
        return begins, NUMBER_ENDS
    return begins, WORD_ENDS if re.search(rf"{SPACED}\Z", piece) else ANYWHERE
