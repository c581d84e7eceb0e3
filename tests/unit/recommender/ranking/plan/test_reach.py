"""The order of changes that nobody has measured: the share of the step that they act on."""

from dataclasses import replace

from kg.nouns.knowledge import Strategy
from kg.triples.serialisation import from_graph
from recommender.cost_model.priced_step import price
from recommender.cost_model.question import Question
from recommender.ranking.plan.reach import Reach
from recommender.workspace.workspace import Workspace


def strategy(shipped: Workspace, name: str) -> Strategy:
    return from_graph(shipped.graph, Strategy, name)


def test_a_change_reaches_the_part_of_the_step_that_it_is_for(shipped: Workspace) -> None:
    asked = {"model": "llama-2-7b", "phase": "training", "hardware": "910b3", "shape": {"seq_len": 4096}}
    reached = []
    for degree in (1, 8):
        problem, _ = shipped.problem({**asked, "count": degree, "current": {"tensor_parallel": degree}})
        question = Question.of(problem, shipped.ask.model_facts(problem), shipped.hardware)
        reached.append(Reach(shipped.graph, price(question)[0]).of(strategy(shipped, "overlap-grad-reduce")))
    assert reached[0] == 0.0
    assert 0.0 < reached[1] < 1.0


def test_without_a_price_experts_look_at_the_work_before_the_host(shipped: Workspace) -> None:
    reach = Reach(shipped.graph, None)
    work, host = (reach.of(strategy(shipped, name)) for name in ("mixed-precision-o2", "cpu-binding"))
    assert work > host > 0


def test_what_frees_memory_takes_no_time_away(shipped: Workspace) -> None:
    whole = strategy(shipped, "expandable-segments")
    only = tuple(item for item in whole.mitigates if item.target == "memory-fragmentation")
    assert only
    assert Reach(shipped.graph, None).of(replace(whole, mitigates=only)) == 0.0


def test_what_acts_on_decode_leaves_the_time_of_long_prompts(shipped: Workspace) -> None:
    asked = {"model": "qwen3-8b", "phase": "serving", "hardware": "h100-sxm", "count": 1}
    drafts, room = strategy(shipped, "suffix-speculative-decoding"), strategy(shipped, "kv-cpu-offload")
    left = []
    for lengths in ({"input_len": 100, "output_len": 4000}, {"input_len": 16000, "output_len": 100}):
        problem, _ = shipped.problem({**asked, "shape": lengths, "traits": {"concurrency": 32}})
        question = Question.of(problem, shipped.ask.model_facts(problem), shipped.hardware)
        reach = Reach(shipped.graph, price(question, [{"batch": 32}])[0])
        left.append(reach.untouched(drafts))
        assert reach.untouched(room) == 0.0
    assert left[0] < 0.1
    assert left[1] > 0.7
    assert Reach(shipped.graph, None).untouched(drafts) == 0.0
