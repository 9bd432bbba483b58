"""Rows in the shapes of well-known benchmarks, written here: column names and values as theirs, the words our own.

name -> (rows, labels, kind, grader kind, how the first task's answer is named, its expected answer, choices)
"""

from typing import Any

LETTERS = "ABCDEFGHIJ"


def _many(make: Any, count: int = 40) -> list[dict[str, Any]]:
    return [make(at) for at in range(count)]


MMLU = _many(
    lambda at: {
        "question": f"Which is {at}?",
        "subject": "sums",
        "choices": [f"{at}", f"{at + 1}", f"{at + 2}", "none"],
        "answer": at % 4,
    }
)
MMLU_CSV = _many(
    lambda at: {
        "Question": f"Which is {at}?",
        "A": f"{at}a",
        "B": f"{at}b",
        "C": f"{at}c",
        "D": f"{at}d",
        "Answer": "BDAC"[at % 4],
        "Subject": "x",
    }
)
MMLU_PRO = _many(
    lambda at: {
        "question_id": at,
        "question": f"q{at}",
        "options": [f"o{at}{n}" for n in range(10)],
        "answer": LETTERS[at % 10],
        "answer_index": at % 10,
        "cot_content": "",
        "category": "math",
        "src": "x",
    }
)
ARC = _many(
    lambda at: {
        "id": f"Mercury_{at}",
        "question": f"q{at}",
        "choices": {"text": ["w", "x", "y", "z"], "label": ["A", "B", "C", "D"] if at % 2 else ["1", "2", "3", "4"]},
        "answerKey": "C" if at % 2 else "3",
    }
)
COMMONSENSE_QA = _many(
    lambda at: {
        "id": f"{at:x}",
        "question": f"q{at}",
        "question_concept": "x",
        "choices": {"label": list("ABCDE"), "text": ["a1", "b1", "c1", "d1", "e1"]},
        "answerKey": "E",
    }
)
OPENBOOK_QA = _many(
    lambda at: {
        "id": f"7-{at}",
        "question_stem": f"Frilled sharks {at}",
        "choices": {"text": ["p", "q", "r", "s"], "label": list("ABCD")},
        "answerKey": "A",
    }
)
HELLASWAG = _many(
    lambda at: {
        "ind": at,
        "activity_label": "Roof",
        "ctx_a": "a",
        "ctx_b": "b",
        "ctx": f"A man {at}",
        "endings": [f"e{at}{n}" for n in range(4)],
        "source_id": "x~1",
        "split": "val",
        "split_type": "indomain",
        "label": str(at % 4),
    }
)
WINOGRANDE = _many(
    lambda at: {
        "sentence": f"Ann beat Bea {at} as _ was good.",
        "option1": "Ann",
        "option2": "Bea",
        "answer": "12"[at % 2],
    }
)
PIQA = _many(lambda at: {"goal": f"Open jar {at}", "sol1": f"twist {at}", "sol2": f"hit {at}", "label": at % 2})
SOCIAL_IQA = _many(
    lambda at: {
        "context": f"Ann ran {at}.",
        "question": "Why?",
        "answerA": "late",
        "answerB": "fun",
        "answerC": "fear",
        "label": "123"[at % 3],
    }
)
BOOLQ = _many(
    lambda at: {"question": f"is {at} odd", "answer": bool(at % 2), "passage": f"About {at}: numbers are odd or even."}
)
RACE = _many(
    lambda at: {
        "example_id": f"high{at}.txt",
        "article": f"Once {at} …",
        "answer": "ABCD"[at % 4],
        "question": f"q{at}",
        "options": ["one", "two", "three", "four"],
    }
)
MEDQA = _many(
    lambda at: {
        "question": f"A patient {at}",
        "answer": "Aspirin",
        "options": {"A": "Rest", "B": "Aspirin", "C": "Water", "D": "Salt"},
        "meta_info": "step1",
        "answer_idx": "B",
    }
)
MEDMCQA = _many(
    lambda at: {
        "id": f"x{at}",
        "question": f"q{at}",
        "opa": "a1",
        "opb": "b1",
        "opc": "c1",
        "opd": "d1",
        "cop": at % 4,
        "choice_type": "single",
        "exp": "since",
    }
)
SCIQ = _many(
    lambda at: {
        "question": f"q{at}",
        "distractor3": "iron",
        "distractor1": "gold",
        "distractor2": "zinc",
        "correct_answer": "lead",
        "support": "Lead is heavy.",
    }
)
GPQA = _many(
    lambda at: {
        "Record ID": f"rec{at}",
        "Question": f"q{at}",
        "Correct Answer": f"right {at}",
        "Incorrect Answer 1": "w1",
        "Incorrect Answer 2": "w2",
        "Incorrect Answer 3": "w3",
        "High-level domain": "Physics",
    }
)
TRUTHFUL_MC1 = _many(
    lambda at: {
        "question": f"q{at}",
        "mc1_targets": {"choices": [f"true {at}", "false", "odd"], "labels": [1, 0, 0]},
        "mc2_targets": {"choices": ["x", "y"], "labels": [1, 1]},
    }
)
TRUTHFUL_LUCE = _many(
    lambda at: {
        "id": f"t{at}",
        "source": "t",
        "question": f"q{at}",
        "choices": [f"true {at}", "false", "odd", "no"],
        "expected_index": 0,
    }
)
AGIEVAL = _many(
    lambda at: {"query": f"Q: {at} Answer Choices: (A) x (B) y", "choices": ["(A)x", "(B)y"], "gold": [at % 2]}
)
AQUA = _many(
    lambda at: {
        "question": f"q{at}",
        "options": ["A)1", "B)2", "C)3", "D)4", "E)5"],
        "rationale": "so",
        "correct": "ABCDE"[at % 5],
    }
)
SEVERAL = _many(
    lambda at: {"question": f"q{at}", "choices": ["p", "q", "r", "s"], "answers": ["A", "C"] if at % 2 else ["B"]}
)
BBH_LETTERS = _many(
    lambda at: {"input": f"Which date {at}?\nOptions:\n(A) x\n(B) y\n(C) z", "target": f"({'ABC'[at % 3]})"}
)
AG_NEWS = _many(lambda at: {"text": f"Shares {at} fell", "label": at % 4})
MNLI = _many(lambda at: {"premise": f"p{at}", "hypothesis": f"h{at}", "label": at % 3, "idx": at})
PUBMED_QA = _many(
    lambda at: {
        "pubid": 1000 + at,
        "question": f"Does {at} help?",
        "context": {"contexts": ["x"]},
        "long_answer": "It may.",
        "final_decision": ["yes", "no", "maybe"][at % 3],
    }
)
GSM8K = _many(
    lambda at: {
        "question": f"Ann has {at} pears, buys 2. How many?",
        "answer": f"She has {at}+2=<<{at}+2={at + 2}>>\n#### {at + 2}",
    }
)
AIME = _many(lambda at: {"ID": f"2024-I-{at}", "Problem": f"Find {at}.", "Solution": "…", "Answer": 100 + at})
MATH = _many(
    lambda at: {
        "problem": f"Simplify {at}.",
        "level": "Level 1",
        "type": "Algebra",
        "solution": f"It is $\\boxed{{\\frac{{{at}}}{{3}}}}$.",
    }
)
MATH_500 = _many(
    lambda at: {
        "problem": f"Simplify {at}.",
        "solution": f"So $\\boxed{{{at}x}}$.",
        "answer": f"{at}x",
        "subject": "Algebra",
        "level": 3,
        "unique_id": f"test/algebra/{at}.json",
    }
)
SVAMP = _many(
    lambda at: {
        "ID": f"chal-{at}",
        "Body": f"Ann has {at} pears.",
        "Question": "How many?",
        "Equation": "( 1 + 1 )",
        "Answer": f"{at}.0",
        "Type": "Sum",
        "question_concat": f"Ann has {at} pears. How many?",
    }
)
HUMAN_EVAL = _many(
    lambda at: {
        "task_id": f"HumanEval/{at}",
        "prompt": f'def f{at}(x):\n    """Add {at}."""\n',
        "entry_point": f"f{at}",
        "canonical_solution": f"    return x + {at}\n",
        "test": f"def check(candidate):\n    assert candidate(1) == {at + 1}\n",
    }
)
MBPP = _many(
    lambda at: {
        "task_id": at,
        "text": f"Write a function to add {at}.",
        "code": f"def add(x): return x + {at}",
        "test_list": [f"assert add(1) == {at + 1}"],
        "test_setup_code": "",
        "challenge_test_list": [],
    }
)
BFCL = _many(
    lambda at: {
        "id": f"parallel_{at}",
        "question": [[{"role": "user", "content": f"Weather in {at}?"}]],
        "function": [
            {
                "name": "weather",
                "description": "d",
                "parameters": {"type": "dict", "properties": {"city": {"type": "string"}}, "required": ["city"]},
            }
        ],
        "ground_truth": [{"weather": {"city": [str(at)]}}],
    }
)
BFCL_IRRELEVANCE = [{name: value for name, value in row.items() if name != "ground_truth"} for row in BFCL]
XLAM = _many(
    lambda at: {
        "id": at,
        "query": f"Weather in {at}?",
        "tools": '[{"name": "weather", "description": "d", "parameters": {"city": {"type": "str"}}}]',
        "answers": f'[{{"name": "weather", "arguments": {{"city": "{at}"}}}}]',
    }
)
TRIVIA_QA = _many(
    lambda at: {
        "question": f"q{at}",
        "question_id": f"tc_{at}",
        "answer": {"aliases": [f"Place {at}", f"P{at}"], "value": f"Place {at}", "normalized_aliases": [f"place {at}"]},
    }
)
NQ_OPEN = _many(lambda at: {"question": f"q{at}", "answer": [f"Name {at}"]})
SQUAD_2 = _many(
    lambda at: {
        "id": f"5{at:x}",
        "title": "T",
        "context": f"It was {at} years.",
        "question": f"q{at}",
        "answers": {"text": [f"{at} years"] if at % 4 else [], "answer_start": [7] if at % 4 else []},
    }
)
TRUTHFUL_GEN = _many(
    lambda at: {
        "type": "x",
        "category": "y",
        "question": f"q{at}",
        "best_answer": f"best {at}",
        "correct_answers": [f"best {at}", "good"],
        "incorrect_answers": ["bad"],
        "source": "u",
    }
)
SIMPLE_QA = _many(lambda at: {"metadata": "{}", "problem": f"Who was {at}?", "answer": f"Person {at}"})
ALPACA = _many(lambda at: {"instruction": f"Translate {at}.", "input": f"Wort {at}", "output": f"word {at}"})
OPENAI_EVALS = _many(
    lambda at: {
        "input": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": f"Capital of {at}?"}],
        "ideal": f"City {at}",
    }
)
ESSAYS = _many(lambda at: {"prompt": f"Explain {at}.", "reference": "word " * 80})
MT_BENCH = _many(
    lambda at: {
        "question_id": 80 + at,
        "category": "writing",
        "turns": [f"Write {at}.", "Now shorter."],
        "reference": [],
    }
)
BFCL_MULTI = _many(
    lambda at: {
        "id": f"multi_turn_base_{at}",
        "question": [[{"role": "user", "content": "a"}], [{"role": "user", "content": "b"}]],
        "initial_config": {},
        "path": [],
        "involved_classes": ["X"],
    }
)

# name: (rows, labels, kind, grader kind, the grader's `answer`, expected of the first task, choices of the first task)
SHAPES: dict[str, tuple[Any, ...]] = {
    "mmlu": (MMLU, {"answer": list("ABCD")}, "multiple_choice", "choice", "index", 0, ["0", "1", "2", "none"]),
    "mmlu_csv": (MMLU_CSV, {}, "multiple_choice", "choice", "letter", "B", ["0a", "0b", "0c", "0d"]),
    "mmlu_pro": (MMLU_PRO, {}, "multiple_choice", "choice", "index", 0, [f"o0{n}" for n in range(10)]),
    "arc": (ARC, {}, "multiple_choice", "choice", "index", 2, ["w", "x", "y", "z"]),
    "commonsense_qa": (COMMONSENSE_QA, {}, "multiple_choice", "choice", "index", 4, ["a1", "b1", "c1", "d1", "e1"]),
    "openbook_qa": (OPENBOOK_QA, {}, "multiple_choice", "choice", "index", 0, ["p", "q", "r", "s"]),
    "hellaswag": (HELLASWAG, {}, "multiple_choice", "choice", "index", 0, ["e00", "e01", "e02", "e03"]),
    "winogrande": (WINOGRANDE, {}, "multiple_choice", "choice", "index", 0, ["Ann", "Bea"]),
    "piqa": (PIQA, {}, "multiple_choice", "choice", "index", 0, ["twist 0", "hit 0"]),
    "social_iqa": (SOCIAL_IQA, {}, "multiple_choice", "choice", "index", 0, ["late", "fun", "fear"]),
    "boolq": (BOOLQ, {}, "multiple_choice", "choice", "text", "no", ["yes", "no"]),
    "race": (RACE, {}, "multiple_choice", "choice", "letter", "A", ["one", "two", "three", "four"]),
    "medqa": (
        MEDQA,
        {},
        "multiple_choice",
        "choice",
        "auto",
        "B",
        {"A": "Rest", "B": "Aspirin", "C": "Water", "D": "Salt"},
    ),
    "medmcqa": (MEDMCQA, {}, "multiple_choice", "choice", "index", 0, ["a1", "b1", "c1", "d1"]),
    "sciq": (SCIQ, {}, "multiple_choice", "choice", "text", None, None),
    "gpqa": (GPQA, {}, "multiple_choice", "choice", "text", None, None),
    "truthful_mc1": (TRUTHFUL_MC1, {}, "multiple_choice", "choice", "index", None, None),
    "truthful_luce": (TRUTHFUL_LUCE, {}, "multiple_choice", "choice", "index", None, None),
    "agieval": (AGIEVAL, {}, "multiple_choice", "choice", "index", 0, ["(A)x", "(B)y"]),
    "aqua": (AQUA, {}, "multiple_choice", "choice", "letter", "A", ["A)1", "B)2", "C)3", "D)4", "E)5"]),
    "several": (SEVERAL, {}, "multiple_choice", "choice", "letter", ["B"], ["p", "q", "r", "s"]),
    "bbh": (BBH_LETTERS, {}, "multiple_choice", "exact", None, "(A)", None),
    "ag_news": (
        AG_NEWS,
        {"label": ["World", "Sports", "Business", "Sci_Tech"]},
        "multiple_choice",
        "choice",
        "index",
        0,
        ["World", "Sports", "Business", "Sci Tech"],
    ),
    "mnli": (
        MNLI,
        {"label": ["entailment", "neutral", "contradiction"]},
        "multiple_choice",
        "choice",
        "index",
        0,
        ["entailment", "neutral", "contradiction"],
    ),
    "pubmed_qa": (PUBMED_QA, {}, "multiple_choice", "choice", "text", "yes", ["maybe", "no", "yes"]),
    "gsm8k": (GSM8K, {}, "math", "numeric", None, GSM8K[0]["answer"], None),
    "aime": (AIME, {}, "math", "numeric", None, 100, None),
    "math": (MATH, {}, "math", "exact", None, "\\frac{0}{3}", None),
    "math_500": (MATH_500, {}, "math", "exact", None, "0x", None),
    "svamp": (SVAMP, {}, "math", "numeric", None, "0.0", None),
    "bfcl": (BFCL, {}, "function_call", "tool_calls", None, [{"weather": {"city": ["0"]}}], None),
    "bfcl_irrelevance": (BFCL_IRRELEVANCE, {}, "function_call", "tool_calls", None, [], None),
    "xlam": (XLAM, {}, "function_call", "tool_calls", None, [{"name": "weather", "arguments": {"city": "0"}}], None),
    "trivia_qa": (TRIVIA_QA, {}, "free_text", "contains", None, ["Place 0", "P0"], None),
    "nq_open": (NQ_OPEN, {}, "free_text", "contains", None, ["Name 0"], None),
    "truthful_gen": (TRUTHFUL_GEN, {}, "free_text", "contains", None, ["best 0", "good"], None),
    "simple_qa": (SIMPLE_QA, {}, "free_text", "contains", None, "Person 0", None),
    "alpaca": (ALPACA, {}, "free_text", "contains", None, "word 0", None),
    "openai_evals": (OPENAI_EVALS, {}, "free_text", "contains", None, "City 0", None),
    "essays": (ESSAYS, {}, "free_text", None, None, "word " * 80, None),
    "mt_bench": (MT_BENCH, {}, "multi_turn", None, None, None, None),
    "bfcl_multi": (BFCL_MULTI, {}, "multi_turn", None, None, None, None),
}
