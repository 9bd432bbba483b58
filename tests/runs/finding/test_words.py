"""Slips of the keyboard are seen through; names that are only alike are not taken for each other."""

import pytest

from runs.finding.words import distance, fold, plain, split, squash, typo


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("hellaswg", "hellaswag"),
        ("helaswag", "hellaswag"),
        ("mmul", "mmlu"),
        ("mmluu", "mmlu"),
        ("truthfullqa", "truthfulqa"),
        ("abstactalgebra", "abstractalgebra"),
        ("winogrand", "winogrande"),
    ],
)
def test_it_sees_through_a_slip(said: str, name: str) -> None:
    assert typo(said, name)


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("aime2024", "aime2025"),  # another exam
        ("gsm1k", "gsm8k"),
        ("kmmlu", "mmlu"),
        ("cmmlu", "kmmlu"),
        ("mmmu", "mmlu"),
        ("mmluprox", "mmlupro"),
        ("must", "musr"),
        ("commonsense", "commonsenseqa"),
        ("τbench", "tbench"),
        ("scqa", "csqa"),
        ("mmlu", "mmlu"),
    ],
)
def test_it_takes_no_name_for_another(said: str, name: str) -> None:
    assert not typo(said, name)


def test_it_measures_letters_left_out_added_replaced_and_swapped() -> None:
    assert [distance("abcd", other) for other in ("abcd", "abc", "abcde", "abxd", "abdc", "")] == [0, 1, 1, 1, 1, 4]


def test_it_compares_without_case_accents_and_separators() -> None:
    assert squash("MMLU-Pro") == squash("mmlu pro") == squash("Mmlu_PRO") == "mmlupro"
    assert squash("τ²-bench") == squash("τ2 bench")
    assert fold("Évalúa Größe") == "evalua grosse"
    assert plain("HumanEval+ and more") == "HumanEval-plus and more"


def test_it_splits_latin_words_off_other_scripts() -> None:
    assert [word.text for word in split("用gpt4跑MMLU的抽象代数")] == ["用", "gpt4", "跑", "MMLU", "的抽象代数"]
    text = "BFCL v4 (my mirror)"
    assert [text[word.start : word.stop] for word in split(text)] == ["BFCL", "v4", "my", "mirror"]
