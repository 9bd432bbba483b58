"""Right scorers in many hands: the lint has nothing to say about them. name -> (code, facts of the rows)."""

from tests.registry.scorer_corpus import scorer

LETTER, NUMBER, TEXT = {"answers": "letter", "options": 4}, {"answers": "number"}, {"answers": "text"}
ONE_TOKEN = (
    "return chat_sync([{'role': 'user', 'content': input['q']}], max_tokens=1)['choices'][0]['message']['content']"
)

RIGHT: dict[str, tuple[str, dict[str, object]]] = {
    "the reader of choices": (scorer("""
        from bench_task import read_choice, verdict
        got = read_choice(output, 4)
        return verdict(output, got, got == expected)
    """), LETTER),
    "the reader of numbers": (scorer(
        "got = read_number(output)\nreturn verdict(output, got, same_number(got, expected))",
        "from bench_task import read_number, same_number, verdict"), NUMBER),
    "one text of many": (scorer("return float(same_text(output, expected))", "from bench_task import same_text"), {}),
    "SQuAD's normalised match": (scorer("return max(float(norm(output) == norm(one)) for one in expected)", r"""
        def norm(text):
            text = re.sub(r"\b(a|an|the)\b", " ", text.lower())
            return " ".join(re.sub(r"[^\w\s]", " ", text).split())
    """), {}),
    "token F1": (scorer("""
        got, want = output.lower().split(), expected.lower().split()
        common = sum(min(got.count(word), want.count(word)) for word in set(got))
        if not common:
            return 0.0
        precision, recall = common / len(got), common / len(want)
        return 2 * precision * recall / (precision + recall)
    """), TEXT),
    "a share of the words": (scorer("""
        got, want = set(output.lower().split()), set(expected.lower().split())
        return len(got & want) / len(got | want) if got | want else 0.0
    """), TEXT),
    "sets of listed labels": (scorer("""
        return float(set(json.loads(output)) == set(expected))
    """), {}),
    "edit distance": (scorer("""
        from difflib import SequenceMatcher
        return SequenceMatcher(None, output.strip(), expected).ratio()
    """), TEXT),
    "one letter and nothing else": (scorer("""
        text = output.strip().rstrip(".")
        if len(text) != 1:
            return 0.0
        return float(text[0].upper() == expected)
    """), LETTER),
    "the first of a known form": (scorer(r"""
        text = output.strip()
        if not re.fullmatch(r"[A-D]\)?.{0,40}", text):
            return 0.0
        return float(text[:1] == expected)
    """), LETTER),
    "a model that may write one token": (scorer("return float(output.strip()[:1] == expected)", solve=ONE_TOKEN),
                                         LETTER),
    "a token in which it must stand": (scorer("return float(expected in output)", solve=ONE_TOKEN), LETTER),
    "the only word": (scorer("""
        words = output.split()
        return float(len(words) == 1 and words[0] == expected)
    """), TEXT),
    "behind the last marker": (scorer("""
        said = output.rpartition("Answer:")[2].split()
        return float(bool(said) and said[0].strip(".") == expected)
    """), LETTER),
    "GSM8K's own form": (scorer(r"""
        found = re.findall(r"#### (-?[0-9.,]+)", output)
        return float(bool(found) and found[0].replace(",", "") == expected)
    """), NUMBER),
    "the number of the last line": (scorer(r"""
        lines = output.strip().splitlines()
        found = re.search(r"-?\d+", lines[-1]) if lines else None
        return float(found is not None and found.group() == expected)
    """), NUMBER),
    "the box": (scorer(r"""
        found = re.findall(r"\\boxed\{([^{}]*)\}", output)
        return float(bool(found) and found[-1].strip() == expected)
    """), {}),
    "a tag": (scorer("""
        got = re.search(r"<answer>(.*?)</answer>", output, re.DOTALL)
        return float(got is not None and got.group(1).strip() == expected)
    """), TEXT),
    "MMLU-Pro's three ways": (scorer(r"""
        for pattern in (r"answer is \(?([A-J])\)?", r"[aA]nswer:\s*([A-J])", r"\b([A-J])\b(?!.*\b[A-J]\b)"):
            found = re.findall(pattern, output, re.DOTALL)
            if found:
                return float(found[-1] == expected)
        return 0.0
    """), {"answers": "letter", "options": 10}),
    "the last letter that stands alone": (scorer(r"""
        letters = [one for one in re.split(r"\W+", output) if one in set("ABCD")]
        return float(bool(letters) and letters[-1] == expected)
    """), LETTER),
    "from the end": (scorer("""
        for word in reversed(output.split()):
            if word.strip("().") in ("A", "B", "C", "D"):
                return float(word.strip("().") == expected)
        return 0.0
    """), LETTER),
    "both sides small": (scorer("return float(output.strip().lower() == expected.lower())"), LETTER),
    "a tolerance": (scorer("""
        try:
            got = float(output.replace(",", "").strip())
        except ValueError:
            return 0.0
        import math
        return float(math.isclose(got, float(expected), rel_tol=1e-4))
    """), NUMBER),
    "whole numbers by ==": (scorer("""
        try:
            return float(int(output) == int(expected))
        except ValueError:
            return 0.0
    """), NUMBER),
    "a fraction": (scorer("""
        from fractions import Fraction
        try:
            got = Fraction(output.strip())
        except (ValueError, ZeroDivisionError):
            return 0.0
        return float(got == Fraction(expected))
    """), NUMBER),
    "a literal and no eval": (scorer("""
        import ast
        try:
            got = ast.literal_eval(output)
        except (ValueError, SyntaxError):
            return 0.0
        return float(got == expected)
    """), {}),
    "a sum of allowed signs": (scorer(r"""
        sums = re.findall(r"[\d+\-*/(). ]+", output)
        try:
            got = eval(sums[-1], {"__builtins__": {}}) if sums else None
        except (SyntaxError, ZeroDivisionError, TypeError):
            return 0.0
        return float(got is not None and abs(got - expected) < 1e-6)
    """), NUMBER),
    "calls in any order": (scorer("""
        from bench_task import read_calls, same_calls, verdict
        calls = read_calls(output)
        return verdict(output, calls, same_calls(calls, expected))
    """), {}),
    "JSON and its fields": (scorer("""
        try:
            got = json.loads(output[output.index("{"): output.rindex("}") + 1])
        except ValueError:
            return 0.0
        same = [got.get(name) == value for name, value in expected.items()]
        return sum(same) / len(same)
    """), {}),
    "a fence taken off": (scorer("""
        text = output.strip()
        if text[:1] == "`":
            text = text.strip("`").removeprefix("json")
        return float(json.loads(text) == expected)
    """), {}),
    "programs in a process of their own": (scorer("""
        word = "passed-" + str(abs(hash(expected["test"])))
        code = output + "\\n" + expected["test"] + "\\nprint(" + repr(word) + ")"
        try:
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=10)
        except subprocess.TimeoutExpired:
            return 0.0
        return float(done.stdout.rstrip().endswith(word))
    """), {}),
    "programs by the reader": (scorer("return check_code(output, expected['test'], expected['entry_point'])",
                                      "from bench_task import check_code"), {}),
    "a conversation's last turn": (scorer("""
        turns = output if isinstance(output, list) else [output]
        return float(bool(turns) and turns[-1].strip() == expected)
    """), TEXT),
    "every turn": (scorer("""
        right = [one.strip() == want for one, want in zip(output, expected)]
        return sum(right) / len(expected) if len(output) == len(expected) else 0.0
    """), {}),
    "a record with its reason": (scorer("""
        got = output.strip()
        return {"score": float(got == expected), "explanation": f"read {got!r}", "metrics": {"length": len(output)}}
    """), TEXT),
    "a class of its own": (scorer("return float(Reply(output).last == expected)", """
        class Reply:
            def __init__(self, text):
                self.lines = [line for line in text.splitlines() if line.strip()]

            @property
            def last(self):
                return self.lines[-1].strip() if self.lines else ""
    """), TEXT),
    "thinking taken out first": (scorer(r"""
        text = re.sub(r"<think>.*?</think>", "", output, flags=re.DOTALL)
        found = re.findall(r"-?\d+", text)
        return float(bool(found) and found[-1] == expected)
    """), NUMBER),
    "a keyword that must be there": (scorer("return float(expected.lower() in output.lower())"), TEXT),
    "one of the accepted ones": (scorer("return float(output.strip() in expected)"), {}),
    "an extension by the first name": (scorer("return float(output.strip().endswith(expected.split()[0]))"), TEXT),
    "constraints that are counted": (scorer("""
        held = [len(output.split()) <= expected["words"], expected["word"] in output, output.count("*") == 3]
        return sum(held) / len(held)
    """), {}),
    "yes or no at the beginning, as asked": (scorer(r"""
        found = re.match(r"\s*(yes|no)\b", output, re.IGNORECASE)
        return float(found is not None and found.group(1).lower() == expected.lower())
    """), TEXT),
    "a parser that never fails": (scorer("return float(parsed(output) == expected)", """
        def parsed(text):
            try:
                return json.loads(text)
            except Exception:
                return None
    """), {}),
    "a suppressed close": (scorer("""
        import contextlib
        with contextlib.suppress(FileNotFoundError):
            import os
            os.remove("/tmp/left-over")
        return float(output.strip() == expected)
    """), TEXT),
    "a broad handler that tells": (scorer("""
        try:
            got = json.loads(output)["answer"]
        except Exception as error:
            raise RuntimeError("the output can't be read") from error
        return float(got == expected)
    """), {}),
    "a rate and no ==": (scorer("""
        hits = sum(word in output for word in expected)
        return hits / len(expected) if expected else 0.0
    """), {}),
    "small letters in brackets": (scorer(r"""
        found = re.findall(r"\(([a-d])\)", output.lower())
        return float(bool(found) and found[-1] == expected.lower())
    """), LETTER),
    "a hexadecimal number": (scorer(r"""
        found = re.findall(r"\b0x[0-9a-f]+\b", output.lower())
        return float(bool(found) and found[-1] == expected)
    """), TEXT),
}  # fmt: skip
