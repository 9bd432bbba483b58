"""What the API answers about what a run comes to: narration, remedies, audit, flags."""

from benchwright_site.openapi.words import (
    ANY_OBJECT,
    COUNT,
    FLAG,
    NUMBER,
    RATE,
    SHA256,
    TEXT,
    TIME,
    UUID,
    Schema,
    array,
    choice,
    mapping,
    maybe,
    named,
    ref,
    thing,
)
from runs import replays
from runs.reporting.narrating import SLICES
from runs.summary import OUTCOMES

_READING = {"answer": TEXT, "passed": FLAG}
_COUNTS: dict[str, Schema] = {name: COUNT for name in ("looked_at", "unread", "agreed", "missed", "lenient", "differs")}
CHOSEN = {
    **maybe(choice(*replays.SLICES)),
    "description": "By what the tasks of a slice were chosen; null of no slice, and where nobody wrote it down.",
}
_AUDIT_ROW = thing(
    "An output that the two read differently. `missed`: only the second reader reads a right answer; `lenient`: only "
    "the scorer does; `differs`: the second takes another program from it, which nobody ran.",
    id=TEXT,
    task_id=TEXT,
    trial=COUNT,
    side=choice("missed", "lenient", "differs"),
    first=thing("The scorer's.", dict(_READING), outcome=choice(*OUTCOMES), error_class=maybe(TEXT)),
    second=thing("The second reader's.", {**_READING, "passed": maybe(FLAG)}),
)
_AUDIT: dict[str, Schema] = {
    "applicable": FLAG,
    "reason": {**maybe(TEXT), "description": "Why nothing was read again; null where something was."},
    "how": array(TEXT),
    "own_code": FLAG,
    "of": COUNT,
    **_COUNTS,
    "sentence": TEXT,
}
_ALIKE = thing(
    "Cells that ended alike.",
    count=COUNT,
    examples=array(thing("One of them.", id=TEXT, task_id=TEXT, trial=COUNT, text=TEXT)),
)
_CELL = thing(
    "A cell.",
    id=TEXT,
    task_id=TEXT,
    trial=COUNT,
    outcome=choice(*OUTCOMES),
    duration_ms=COUNT,
    model_ms=COUNT,
    tokens_in=COUNT,
    tokens_out=COUNT,
    attempt=COUNT,
    cost=maybe(ref("Money")),
)
_SPREAD = maybe(
    thing(
        "How it spreads over the scored cells, in steps of equal ratio. Milliseconds, or micro-cents.",
        cells=COUNT,
        least=COUNT,
        most=COUNT,
        sum=COUNT,
        p50=COUNT,
        p95=COUNT,
        bins=array(thing("A step.", {"from": COUNT, "to": COUNT, "count": COUNT})),
    )
)
_TRUNCATION = maybe(
    thing(
        "Answers that were cut at the token limit. `thinking`: while the model still thought.",
        cells=COUNT,
        failed=COUNT,
        thinking=COUNT,
        tokens=maybe(COUNT),
        asked=maybe(COUNT),
        name=TEXT,
        suggested=maybe(COUNT),
    )
)

REPORT_OBJECTS: dict[str, Schema] = {
    "ReviewFlag": thing(
        "Something that a person should look at. It changes no score.",
        code=TEXT,
        detail=TEXT,
        created_at=TIME,
        remarks=array(
            thing(
                "What somebody said to it.",
                by=choice("owner", "benchmark_owner", "staff", "former_account"),
                note=TEXT,
                settlement=maybe(choice("accepted", "rejected")),
                created_at=TIME,
            )
        ),
        settlement=maybe(
            thing("The newest one counts.", verdict=choice("accepted", "rejected"), by=TEXT, note=TEXT, at=TIME)
        ),
    ),
    "Narration": named(
        "narration",
        "A run in plain words.",
        run=UUID,
        slice=choice(*SLICES),
        status=TEXT,
        text=TEXT,
        sentences=array(TEXT),
        waiting={**maybe(TEXT), "description": "What it waits for or does; null once it has ended."},
        next=array(TEXT),
        source={**choice("builtin", "driver"), "description": "Whose words they are."},
        driver=maybe(thing("The model that was asked.", model=TEXT, provider=TEXT)),
        notice={**maybe(TEXT), "description": "Why they are the built-in words, where the driver's were asked for."},
        cost={**maybe(ref("Money")), "description": "Null where its price is not known."},
    ),
    "Reruns": thing(
        "What was run again, for ever told.",
        attempts=COUNT,
        rescored=COUNT,
        reused=COUNT,
        of_parent=COUNT,
        slice=FLAG,
        chosen=CHOSEN,
        completes=FLAG,
        later=array(
            thing("A later run.", run=UUID, cells=COUNT, slice=FLAG, chosen=CHOSEN, completes=FLAG, status=TEXT)
        ),
        later_cells=COUNT,
        later_chosen={**mapping(COUNT), "description": "How many of them by each way of choosing."},
    ),
    "Remedies": named(
        "remedies",
        "What did not pass, by class, and what mends it.",
        run=UUID,
        classes=array(
            thing(
                "A class.",
                outcome=choice(*OUTCOMES),
                error_class=maybe(TEXT),
                count=COUNT,
                meaning=TEXT,
                message=maybe(TEXT),
                tasks=TEXT,
                offers=array(
                    thing(
                        "An act. `requests` do it, in order; `price` is at most about.",
                        kind=choice("replay", "rescore", "allow_host"),
                        label=TEXT,
                        requests=array(thing("A request.", method=TEXT, path=TEXT, body=ANY_OBJECT)),
                        cells=COUNT,
                        price=maybe(ref("Money")),
                        price_words=TEXT,
                        command=maybe(TEXT),
                    )
                ),
            )
        ),
        truncation=_TRUNCATION,
        reruns=ref("Reruns"),
    ),
    "Audit": named(
        "audit",
        "What a second reader reads otherwise than the scorer. Rows are hidden from those who may not see answers.",
        _AUDIT,
        run=UUID,
        rows=array(_AUDIT_ROW),
        rows_hidden=FLAG,
    ),
    "Report": named(
        "report",
        "What a run came to. Bounded whatever the run's size.",
        version=COUNT,
        run=thing(
            "The run.",
            id=UUID,
            title=TEXT,
            status=TEXT,
            mode=TEXT,
            benchmark=maybe(TEXT),
            model=maybe(TEXT),
            provider=maybe(TEXT),
            trials=COUNT,
            planned=COUNT,
            started_at=maybe(TIME),
            last_result_at=maybe(TIME),
            took_s=maybe(NUMBER),
            halt_reason=maybe(TEXT),
            error=maybe(ANY_OBJECT),
            badges=array(TEXT),
            link=TEXT,
        ),
        scope=maybe(ref("Scope")),
        summary=ref("Summary"),
        score=thing(
            "The headline's figures. `few`: too few for a rate. `bounded`: the bounds say more than the rate.",
            rate=maybe(RATE),
            ci95=maybe(array(RATE)),
            scored=COUNT,
            few=FLAG,
            coverage=maybe(RATE),
            bounds=thing("All without a score wrong, or right.", worst=maybe(RATE), best=maybe(RATE)),
            bounded=FLAG,
            counts=thing("By outcome.", {name: COUNT for name in OUTCOMES}),
            total=COUNT,
        ),
        by_kind=array(
            thing(
                "One kind.",
                kind=TEXT,
                total=COUNT,
                scored=COUNT,
                passed=COUNT,
                rate=maybe(RATE),
                ci95=maybe(array(RATE)),
                few=FLAG,
            )
        ),
        not_passed=array(
            thing(
                "One class.",
                outcome=choice(*OUTCOMES),
                error_class=maybe(TEXT),
                count=COUNT,
                meaning=TEXT,
                message=maybe(TEXT),
                compared=COUNT,
                groups=array(_ALIKE),
            )
        ),
        likeness=TEXT,
        answers=thing(
            "Of the scored answers.", scored=COUNT, truncated=COUNT, empty=COUNT, refused=COUNT, unreadable=COUNT
        ),
        truncation=_TRUNCATION,
        slowest=array(_CELL),
        dearest=array(_CELL),
        latency=_SPREAD,
        costs=_SPREAD,
        provenance=thing(
            "What decides the score.",
            fingerprint=SHA256,
            benchmark=maybe(TEXT),
            subset=ANY_OBJECT,
            tasks=COUNT,
            slice=FLAG,
            impl=maybe(ANY_OBJECT),
            grader=maybe(TEXT),
            grader_told=maybe(TEXT),
            harness=ANY_OBJECT,
            model=ANY_OBJECT,
            sampling=maybe(ANY_OBJECT),
            sampling_told=TEXT,
            served=array(thing("Who answered.", name=TEXT, calls=COUNT)),
            judge=maybe(
                thing(
                    "Who judged, as asked for and as the answers name themselves.",
                    model=TEXT,
                    provider=TEXT,
                    params=ANY_OBJECT,
                    served=array(thing("Who answered.", name=TEXT, calls=COUNT)),
                )
            ),
            limits=ANY_OBJECT,
            sandbox=TEXT,
            unsandboxed=FLAG,
            code=TEXT,
            parent=maybe(UUID),
            relation=maybe(TEXT),
            completes=FLAG,
        ),
        audit=thing(
            "The audit; its rows for those who may see answers.", _AUDIT, optional=("rows",), rows=array(_AUDIT_ROW)
        ),
        reruns=ref("Reruns"),
        review=array(ref("ReviewFlag")),
    ),
}
