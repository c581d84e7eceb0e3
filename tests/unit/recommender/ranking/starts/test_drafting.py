"""Settings that draft tokens stand or fall together."""

from dataclasses import replace

import pytest

from kg.terms.purposes import plain_key
from recommender.ranking.starts.drafting import DRAFT_MODEL, drafted_whole
from recommender.ranking.starts.recipes.agreement import AgreedSetting
from tests.unit.recommender.ranking.starts.situations import agreed, recipe, situation

OTHER = agreed("--max-num-seqs", "64")
STEPS = agreed("--speculative-num-steps", "3")
COUNT = agreed("speculative_config.num_speculative_tokens", "3")
PATH = agreed("speculative_config.model", "someone/head")
SAME, SISTER = recipe("same"), recipe("sister", model="large")


def sglang(value: str, share: float = 0.8, of: str = "large") -> AgreedSetting:
    return agreed("--speculative-algorithm", value, share, first=SISTER if of == "large" else SAME)


def vllm(value: str, of: str = "large") -> AgreedSetting:
    return agreed("speculative_config.method", value, first=SISTER if of == "large" else SAME)


def keys(kept: list[AgreedSetting], *, has_draft: bool | None = None) -> set[str]:
    """Keys of the settings that are left for the model ``small``."""
    about = situation()
    about = replace(about, model=replace(about.model, has_draft=has_draft))
    settings, refused = drafted_whole(kept, about)
    assert {item.key for item in settings} | {item.strategy for item in refused} >= {i.key for i in kept}
    return {plain_key(item.key) for item in settings if item is not OTHER}


@pytest.mark.parametrize(
    "kept",
    [
        [OTHER, STEPS],
        [OTHER, sglang("EAGLE3", share=0.4), STEPS],
        [OTHER, sglang("EAGLE3"), STEPS],
        [OTHER, vllm("eagle3"), COUNT],
        [OTHER, COUNT],
    ],
)
def test_without_what_drafts_nothing_of_it_is_set(kept: list[AgreedSetting]) -> None:
    assert keys(kept) == set()


@pytest.mark.parametrize(("has_draft", "stays"), [(True, True), (None, True), (False, False)])
def test_layers_of_the_model_draft_where_it_has_some(has_draft: bool | None, stays: bool) -> None:
    for method in (sglang("NEXTN"), vllm("qwen3_5_mtp")):
        assert bool(keys([method, STEPS, OTHER], has_draft=has_draft)) is stays


def test_a_draft_model_of_the_recipe_for_this_very_model_stands_as_a_place_to_fill() -> None:
    settings, refused = drafted_whole([sglang("EAGLE3", of="small"), STEPS], situation())
    assert not refused
    assert {item.key: item.value for item in settings}["--speculative-draft-model-path"] == DRAFT_MODEL
    assert "speculative_config.model" in keys([vllm("eagle3", of="small"), COUNT])


def test_a_draft_model_that_is_named_and_drafts_from_prompts_stay_as_they_are() -> None:
    assert keys([vllm("eagle3"), PATH, COUNT]) == {plain_key(i.key) for i in (vllm("eagle3"), PATH, COUNT)}
    assert keys([PATH]) == {plain_key(PATH.key)}
    assert keys([vllm("ngram"), COUNT]) == {plain_key(i.key) for i in (vllm("ngram"), COUNT)}
    assert "speculative_draft_model_path" not in keys([sglang("EAGLE"), STEPS], has_draft=True)
    assert keys([OTHER]) == set()
