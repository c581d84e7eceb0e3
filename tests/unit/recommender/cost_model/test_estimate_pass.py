"""One forward pass, operator by operator."""

from dataclasses import replace

import pytest

from kg.errors import InputError
from recommender.cost_model.anchors import UNANCHORED
from recommender.cost_model.estimate import estimate
from recommender.cost_model.estimate_pass import PassOperator, PassShape, PricedPass, estimate_pass, passes_of
from recommender.cost_model.facts.physics import PHYSICS
from recommender.cost_model.operators.kinds import shipped
from recommender.cost_model.question import Question
from tests.unit.recommender.cost_model.machines import A3, machine_of, model


def priced(
    name: str, phase: str = "decode", sequences: float = 16, queries: float = 1, **settings: object
) -> PricedPass:
    """A pass on sixteen dies."""
    question = Question(model=model(name), machine=machine_of(*A3), phase="serving")
    context = 4096.0 if phase == "decode" else 0.0
    shape = PassShape(phase=phase, batch=sequences, chunk=queries, context=context)
    return estimate_pass(question, {"tp": 16, **settings}, shape)


@pytest.mark.parametrize("phase", ["prefill", "decode"])
def test_operators_add_up_to_the_pass(phase: str) -> None:
    done = priced("qwen3-32b", phase, queries=1 if phase == "decode" else 1024)
    assert sum(one.time_s for one in done.operators) == pytest.approx(max(done.time_s, 0), rel=0.01)
    assert [one.time_s for one in done.operators] == sorted(
        (one.time_s for one in done.operators), reverse=True
    )
    assert sum(one.share for one in done.operators) == pytest.approx(1.0, rel=0.01)


def test_a_large_prefill_is_bound_by_compute_and_few_rows_by_memory() -> None:
    bounds = {
        phase: {
            one.name: one.bound for one in priced("qwen3-32b", phase, sequences=4, queries=queries).operators
        }
        for phase, queries in (("prefill", 8192), ("decode", 1))
    }
    assert bounds["prefill"]["gate and up"] == "compute"
    assert bounds["decode"]["gate and up"] == "memory"
    assert bounds["decode"]["collectives of tensor parallelism"] == "link"
    assert bounds["decode"]["vector kernels"] == "launch"


def test_experts_and_their_exchange_stand_by_themselves() -> None:
    names = {one.name: one.count for one in priced("deepseek-v3", ep=16).operators}
    sizes = model("deepseek-v3")
    assert names["experts"] == sizes.layers - sizes.dense_layers
    assert names["down"] == sizes.dense_layers
    assert names["exchange of experts"] == 2 * sizes.layers


def test_shared_experts_are_as_many_as_the_model_has() -> None:
    def weights(shared: int) -> float:
        sizes = replace(model("deepseek-v3"), shared=shared)
        question = Question(model=sizes, machine=machine_of(*A3), phase="serving")
        shape = PassShape(phase="prefill", batch=16.0, chunk=4096.0, context=0.0)
        parts = estimate_pass(question, {"tp": 16, "ep": 16}, shape).operators
        return sum(one.time_s for one in parts if one.name.startswith("shared "))

    assert weights(0) == 0
    assert weights(4) / weights(2) == pytest.approx(2, rel=0.3)
    assert weights(2) > weights(1)


def test_a_pass_is_the_step_of_an_engine() -> None:
    step = estimate(
        model=model("qwen3-32b"), machine=machine_of(*A3), phase="serving",
        settings=[{"tp": 16, "speculative_tokens": 2, "draft_method": "mtp", "batch": 16, "input_len": 4096,
                   "output_len": 3}],
        operators=replace(shipped(), anchors=UNANCHORED),
    )  # fmt: skip
    done = priced("qwen3-32b", queries=3, speculative_tokens=2, draft_method="mtp")
    assert done.time_s == pytest.approx(step.time_s[0], rel=1e-6)


def test_of_the_host_between_steps_little_remains_where_the_next_is_scheduled_ahead() -> None:
    waits, ahead = (priced("qwen3-32b", async_scheduling=value) for value in (0, 1))
    parts = {one.name: one for one in ahead.operators}
    assert waits.time_s - ahead.time_s == pytest.approx(PHYSICS["step_host_us"] / 1e6)
    assert parts["host between steps"].bound == "launch"
    assert parts["host between steps"].time_s == pytest.approx(PHYSICS["between_us"] / 1e6)


def test_what_one_kernel_makes_latent_rows_from_takes_as_long_as_measured() -> None:
    def passed(rows: int, attention: str = "same") -> dict[str, PassOperator]:
        done = priced(
            "glm-5", sequences=rows, tp=4, dp=4, ep=16, precision="int8", precision_attention=attention
        )
        return {one.name: one for one in done.operators}

    served, wide = passed(3), passed(3, "bf16")
    # 64.2 us in the median of served GLM-5 (data/cost_model/physics.csv, prolog_us)
    assert served["down to ranks"].time_s / 78 == pytest.approx(64.2e-6, rel=0.02)
    assert "query" not in served
    assert "query" in wide
    apart = wide["down to ranks"].time_s + wide["query"].time_s + wide["vector kernels"].time_s
    saved = apart - served["down to ranks"].time_s - served["vector kernels"].time_s
    # 5.4 ms of 61 blocks are saved (vllm-project/vllm-ascend, pull request 5952)
    assert 0.5 * 5.4e-3 / 61 < saved / 78 < 5.4e-3 / 61
    many = passed(2000)
    assert "query" in many


def test_the_head_of_a_quantised_model_takes_as_long_as_measured() -> None:
    done = priced("glm-5", sequences=3, tp=4, dp=4, ep=16, precision="int8")
    # MatMulV2 of 3 x 6144 by 38720, served in W8A8: 401 us (insitu_kernel.csv as of small_kernel_us)
    head = next(one for one in done.operators if one.name == "output head")
    assert head.time_s == pytest.approx(401e-6, rel=0.1)


def test_each_drafted_token_takes_a_block_and_an_output_head() -> None:
    def drafting(tokens: int, method: str = "mtp") -> float:
        done = priced(
            "qwen3-32b", queries=1 + tokens, speculative_tokens=tokens, draft_graph=1, draft_method=method
        )
        return next((one.time_s for one in done.operators if one.name == "drafting"), 0.0)

    parts = {one.name: one.time_s for one in priced("qwen3-32b", queries=2).operators}
    rest = sum(parts.values()) - parts["output head"] - parts["host between steps"]
    assert drafting(0) == drafting(3, "ngram") == 0
    assert drafting(1) == pytest.approx(rest / 64 + parts["output head"], rel=0.05)
    assert drafting(3) == pytest.approx(3 * drafting(1), rel=0.1)
    # a fifth of the model's tokens
    assert drafting(3, "eagle3") < drafting(3) - 2.0 * parts["output head"]


def test_a_layout_that_cannot_be_is_refused() -> None:
    with pytest.raises(InputError, match="number of devices"):
        priced("qwen3-32b", dp=2)


def test_plain_content_has_every_operator() -> None:
    done = priced("qwen3-32b")
    content = done.to_json()
    assert content["time_s"] == done.time_s
    assert len(list(content["operators"])) == len(done.operators)


@pytest.mark.parametrize(
    ("name", "phase", "listed"),
    [("qwen3-8b", "serving", True), ("qwen3-8b", "training", False), ("resnet-50", "serving", False)],
)
def test_only_a_served_language_model_has_passes(name: str, phase: str, listed: bool) -> None:
    question = Question(model=model(name), machine=machine_of(*A3), phase=phase, engine="vllm")
    settings = {"input_len": 1000, "output_len": 200, "batch": 8, "tensor_parallel": 16}
    if listed:
        decode, prefill = passes_of(question, settings)
        assert 0 < decode.time_s < prefill.time_s
    else:
        with pytest.raises(InputError, match="--operators"):
            passes_of(question, settings)


def test_stages_that_an_engine_makes_by_itself_share_the_sequences_of_a_step() -> None:
    question = Question(model=model("qwen3-8b"), machine=machine_of(*A3), phase="serving", engine="llama.cpp")
    decode, _ = passes_of(question, {"input_len": 1000, "output_len": 200, "batch": 32, "tensor_parallel": 1})
    assert decode.sequences == 2  # of sixteen stages


def test_a_pass_is_asked_for_by_its_shape() -> None:
    question = Question(model=model("qwen3-5-27b"), machine=machine_of(*A3), phase="serving", engine="vllm")
    settings = {"input_len": 1000, "output_len": 200, "batch": 8, "tensor_parallel": 8, "data_parallel": 2}

    def asked(phase: str, **shape: object) -> PricedPass:
        (one,) = passes_of(question, settings, shape=PassShape.of({"phase": phase, **shape}))
        return one

    usual = {one.phase: one for one in passes_of(question, settings)}
    assert {phase: asked(phase) for phase in usual} == usual
    batched = asked("decode", batch=64, context=32768)
    assert (batched.sequences, batched.queries, batched.cached) == (64, 1, 32768)
    assert batched.time_s > usual["decode"].time_s
    assert sum(batched.bounds.values()) == pytest.approx(1, rel=0.01)
    chunk = asked("prefill", batch=1, chunk=16384)
    assert asked("prefill", batch=1, chunk=16384, context=65536).time_s > chunk.time_s
    seen = asked("prefill", batch=1, chunk=16384, images="1x1080x1920")
    assert next(one for one in seen.operators if one.name == "vision tower").bound == "compute"
    # a picture of 34 x 60 cells of 32 pixels, each a token beside those of the text
    assert asked("prefill", images="1x1080x1920").queries == 1000 + 34 * 60


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        ({"phase": "train"}, "prefill or decode"),
        ({"phase": "decode", "batch": 0}, "batch=0"),
        ({"phase": "prefill", "chunk": "many"}, "chunk=many"),
        ({"phase": "prefill", "rows": 3}, "no rows"),
        ({"phase": "prefill", "images": 3}, "2x1080x1920"),
        ({"phase": "prefill", "images": "0x10x10"}, "2x1080x1920"),
        ({"phase": "decode", "images": "1x10x10"}, "read in a prefill"),
    ],
)
def test_a_pass_that_cannot_be_is_refused(stated: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        PassShape.of(stated)
