"""Answers as JSON in short."""

from recommender.answers.brief import brief


def test_the_decision_stays_and_lists_behind_it_are_cut_with_their_number() -> None:
    change = {"id": "i", "evidence": [{"kind": "published"}, {"kind": "recipe"}]}
    content = {
        "start": {"settings": [1, 2]},
        "alternatives": [{"paste": ["vllm serve"], "settings": [1]}],
        "changes": [change],
        "not_here": list(range(50)),
        "refused": [1],
    }
    short = brief(content)
    assert short["start"] == content["start"]
    assert short["alternatives"] == [{"paste": ["vllm serve"]}]
    assert short["changes"] == [{"id": "i", "evidence": [{"kind": "published"}]}]
    assert (len(short["not_here"]), short["not_here_count"]) == (5, 50)
    assert short["refused"] == [1]
    assert len(content["not_here"]) == 50


def test_with_nothing_to_cut_it_is_the_same() -> None:
    assert brief({"recommendations": [1, 2]}) == {"recommendations": [1, 2]}
