"""Plans as people read and paste them."""

from dataclasses import replace

import pytest

from cli.commands.answer_text import show_missed, show_plan
from kg.nouns.gain import Gain
from kg.nouns.layout import ParallelLayout
from kg.nouns.setting import SettingPlace
from kg.nouns.situation import FactOrigin, Situation, StatedFact
from kg.nouns.values import Settings, Value
from recommender.answers.answer import Answer
from recommender.ranking.change import Change, NotHere
from recommender.ranking.plan.missed_limits import MissedLimit
from recommender.ranking.plan.plan import Plan
from recommender.ranking.plan_setting import Origin, PlanSetting
from recommender.ranking.start import ExpectedValue, StartConfiguration
from tests.samples.problems import make_problem


def setting(key: str, value: Value = True) -> PlanSetting:
    where = SettingPlace.ENV if key.isupper() else SettingPlace.JSON if "." in key else SettingPlace.FLAG
    return PlanSetting(where=where, key=key, value=value, origin=Origin.RECIPE)


def start(*settings: PlanSetting, framework: str = "vllm") -> StartConfiguration:
    return StartConfiguration(
        framework=framework,
        version="0.18.0",
        layout=ParallelLayout(tp=4, dp=2),
        fits=True,
        settings=settings,
        expected=(ExpectedValue(metric="tpot", unit="s", value=0.02, low=0.01, high=0.04, tier="modelled"),),
        needs=("MODEL in int8",),
        because=tuple(f"reason {number}" for number in range(5)),
    )


def shown(capsys: pytest.CaptureFixture[str], plan: Plan, *, verbose: bool = False) -> str:
    problem = make_problem("serve", "chip", kind="serving", model="m", count=2, metric="throughput")
    show_plan(Answer(problem=problem, version="1", recommendations=(), plan=plan), plan, verbose=verbose)
    return capsys.readouterr().out


CHANGE = Change(
    id="i",
    title="A title",
    strategy="s",
    settings=(setting("--block-size", 64), setting("MY_ENV", "1")),
    gain=Gain(expected=0.1, low=0.0, high=0.2),
    tier="published",
    provided="prompts share a prefix",
    accuracy="may-change",
)
PLAN = Plan(
    start=start(setting("--max-num-seqs", 64)),
    alternatives=(StartConfiguration(layout=ParallelLayout(tp=8)),),
    changes=(CHANGE, Change(id="j", title="Work by hand", how="Do it.")),
    further=(Change(id="k", title="More", strategy="more"),),
    not_here=tuple(NotHere(strategy=f"no-{number}", because="a reason") for number in range(5)),
)


def test_a_plan_for_people_says_where_to_start_and_what_to_test(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys, PLAN)
    lines = text.splitlines()
    assert lines[0] == "Start with vllm 0.18.0: TP 4 x DP 2, tpot 20 ms (10 to 40); modelled"
    assert lines[1] == "  vllm serve MODEL --max-num-seqs 64"
    assert lines[2:4] == ["Needs: MODEL in int8", "Test next:"]
    assert "Or TP 8" in shown(capsys, PLAN, verbose=True).splitlines()
    assert "1. 1.11x (1.00 to 1.22), published: A title" in lines
    says = "export MY_ENV=1; --block-size 64; if prompts share a prefix; accuracy may change: measure it"
    assert says in " ".join(text.split())
    assert lines[-1] == "Also documented: Work by hand; More"


def test_fields_that_a_file_has_already_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    fields = [setting("a.maxSize", 4), setting("a.otherSize", 8), setting("a.newSize", 2)]
    settings = [replace(one, file="config.json", where=SettingPlace.JSON) for one in fields]
    problem = make_problem("serve", "chip", kind="serving", model="m", count=2, metric="throughput")
    problem = replace(problem, current=Settings({"max_size": 4, "other_size": 9}))
    plan = Plan(start=start(*settings, framework="mindie"))
    show_plan(Answer(problem=problem, version="1", recommendations=(), plan=plan), plan)
    lines = capsys.readouterr().out.splitlines()
    assert [line.strip() for line in lines if "Size" in line] == [
        "config.json: a.newSize=2",
        "config.json: a.otherSize=8",
    ]
    assert "  and 1 more as in your file" in lines


def test_what_a_change_sets_stands_on_its_line_where_both_fit(capsys: pytest.CaptureFixture[str]) -> None:
    bare = replace(CHANGE, settings=(setting("--block-size", 64),), provided="", accuracy="unchanged")
    assert "1. 1.11x (1.00 to 1.22), published: A title: --block-size 64" in shown(
        capsys, replace(PLAN, changes=(bare,))
    )


def test_settings_that_the_script_lacks_are_named_and_lengths_that_it_states_are_none() -> None:
    read: dict[str, Value] = {"current.template": "qwen", "shape.seq_len": 4096}
    facts = [StatedFact(name=name, value=said, origin=FactOrigin.SCRIPT) for name, said in read.items()]
    problem = make_problem("train", "chip", kind="training", model="m", count=2, metric="throughput")
    told = replace(problem, situation=Situation.of(facts))
    settings = (setting("--cutoff_len", 4096), setting("--template", "qwen"), setting("--packing"))
    plan = Plan(start=start(*settings, framework="llama-factory"))
    assert Answer(problem=told, version="1", recommendations=(), plan=plan).added == ("--packing",)
    assert Answer(problem=problem, version="1", recommendations=(), plan=plan).added == ()


def test_the_headline_holds_the_load_that_its_number_is_for(capsys: pytest.CaptureFixture[str]) -> None:
    words = {
        "traits.concurrency": "64 requests at once",
        "software.vllm": "vllm 0.18.0",
        "shape.input_len": "prompts of 9 tokens",
    }
    facts = tuple(
        StatedFact(name=name, value=1, origin=FactOrigin.ASSUMED, words=said) for name, said in words.items()
    )
    problem = make_problem("serve", "chip", kind="serving", model="m", count=2, metric="throughput")
    show_plan(Answer(problem=problem, version="1", recommendations=(), plan=PLAN, assumed=facts), PLAN)
    lines = capsys.readouterr().out.splitlines()
    assert " ".join(" ".join(lines[:2]).split()).endswith("(10 to 40); modelled at 64 requests at once")
    assert lines[2] == "Assumed: prompts of 9 tokens"


def test_all_of_it_is_shown_on_demand(capsys: pytest.CaptureFixture[str]) -> None:
    few, everything = (shown(capsys, PLAN, verbose=verbose) for verbose in (False, True))
    assert "reason 4" not in few
    assert "reason 4" in everything
    assert "no-4 (a reason)" in everything
    assert "2. documented: Work by hand: Do it" in everything.splitlines()
    assert "Further: more" in everything


@pytest.mark.parametrize(
    ("chance", "says", "where"),
    [
        (0.0, "Nothing here keeps tpot <= 5 ms: the nearest is modelled at 20 ms", "Nearest with"),
        (0.1, "Modelled to miss tpot <= 5 ms: 20 ms", "Start with"),
    ],
)
def test_limits_that_are_missed_are_said_first(
    capsys: pytest.CaptureFixture[str], chance: float, says: str, where: str
) -> None:
    missed = MissedLimit(
        metric="tpot", unit="s", maximum=0.005, value=0.02, low=0.01, high=0.04, chance=chance
    )
    plan = replace(PLAN, missed=(missed,))
    show_missed(plan)
    assert capsys.readouterr().out.startswith(says)
    assert shown(capsys, plan).startswith(where)


@pytest.mark.parametrize(
    ("layout", "says"),
    [
        (
            ParallelLayout(tp=8, dp=2),
            "It does not fit on 2 x chip. The smallest layout that does: TP 8 x DP 2, 16 devices.",
        ),
        (None, "It does not fit on 2 x chip, nor on any number up to 1,024."),
    ],
)
def test_what_does_not_fit_is_said_with_what_would(
    capsys: pytest.CaptureFixture[str], layout: ParallelLayout | None, says: str
) -> None:
    assert " ".join(shown(capsys, Plan(start=StartConfiguration(layout=layout, fits=False))).split()) == says


def test_sizes_in_use_that_leave_no_room_are_said_with_others(capsys: pytest.CaptureFixture[str]) -> None:
    start = StartConfiguration(layout=ParallelLayout(tp=2), fits=False, because=("too little memory",))
    says = "It does not fit on 2 x chip: too little memory. This does: TP 2."
    assert " ".join(shown(capsys, Plan(start=start)).split()) == says


def test_a_launch_that_fits_when_it_is_changed_is_told_how(capsys: pytest.CaptureFixture[str]) -> None:
    start = StartConfiguration(
        layout=ParallelLayout(dp=4), fits=False, because=("with micro-batches of 1 it takes 9 GB of each",)
    )
    says = (
        "As it is, it does not fit on 2 x chip; with micro-batches of 1 it takes 9 GB of each."
        " Unchanged, the smallest layout that does: DP 4, 4 devices."
    )
    assert " ".join(shown(capsys, Plan(start=start)).split()) == says


def test_a_number_format_that_fits_is_said_beside(capsys: pytest.CaptureFixture[str]) -> None:
    start = StartConfiguration(
        layout=ParallelLayout(tp=8, pp=2), fits=False, fits_in=("fp8", ParallelLayout(tp=8))
    )
    told = " ".join(shown(capsys, Plan(start=start)).split())
    assert told.endswith(
        "In fp8 it fits here: TP 8 (--precision fp8). What that loses in accuracy is not known."
    )
    assert start.to_json()["fits_in"] == {"precision": "fp8", "layout": ParallelLayout(tp=8).to_json()}
