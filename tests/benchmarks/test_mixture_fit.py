"""Learning the weights of the experts."""

import numpy as np

from benchmarks.protocols.mixture_fit import MixtureFit, OpenQuestion
from kg.triples.hardware_tree import Distance
from recommender.calibration.mixture import COPYING, EXPERTS, EvidenceClass, listed

HERE = EvidenceClass(Distance.SAME_VENDOR, dense=True)
RNG = np.random.default_rng(3)


def question(
    device: str, expert: str | None, situation: EvidenceClass = HERE, corpus: str = "c"
) -> OpenQuestion:
    """One of eight candidates is best; an expert knows it, the others and the nearest case guess."""
    truth = RNG.permutation(np.arange(8) * 0.3)
    opinions = RNG.uniform(0.0, 1.0, (1 + len(EXPERTS), 8)).astype(np.float32)
    if expert is not None:
        opinions[("nearest", *EXPERTS).index(expert)] = truth
    return OpenQuestion(
        corpus=corpus,
        operator="op",
        device=device,
        vendor="v",
        situation=situation,
        opinions=opinions,
        truth=truth,
    )


def questions(expert: str | None, devices: int = 8, each: int = 20) -> list[OpenQuestion]:
    return [question(f"d{device}", expert) for device in range(devices) for _ in range(each)]


def first_regret(items: list[OpenQuestion], weights: object) -> float:
    assert isinstance(weights, dict)
    return float(
        np.mean(
            [item.truth[listed(item.opinions, weights.get(item.situation, COPYING), 1)[0]] for item in items]
        )
    )


def test_an_expert_that_knows_is_followed() -> None:
    items = questions("modelled")
    weights = MixtureFit(items).weights()
    assert weights[HERE][0][EXPERTS.index("modelled")] == 3.0
    assert first_regret(items, weights) < 0.5 * first_regret(items, {})


def test_noise_is_seldom_followed_and_never_by_one_device() -> None:
    alone = [question("only", "modelled") for _ in range(60)]
    assert MixtureFit(alone).weights()[HERE] == COPYING


def test_what_one_device_likes_is_not_asked_of_it() -> None:
    """Experts know on one device and mislead on all others."""
    odd = [question("odd", "modelled") for _ in range(40)]
    rest = [question(f"d{device}", "nearest") for device in range(6) for _ in range(40)]
    fit = MixtureFit([*odd, *rest])
    assert fit.weights(lambda item: item.device == "odd")[HERE] == COPYING


def test_lists_do_not_repeat_what_the_first_place_took() -> None:
    """Two experts know half each: the second place asks the one that the first did not."""
    items = [
        question(f"d{device}", ("modelled", "popular")[number % 2])
        for device in range(8)
        for number in range(30)
    ]
    weights = MixtureFit(items).weights()
    best = [
        min(item.truth[listed(item.opinions, weights[HERE], 3)])
        - item.truth[listed(item.opinions, COPYING, 3)].min()
        for item in items
    ]
    assert np.mean(best) < 0
