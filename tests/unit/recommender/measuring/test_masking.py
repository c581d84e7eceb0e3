"""Secrets are masked by their names, and settings are not."""

import pytest

from recommender.measuring.masking import MASK, is_secret, masked, masked_environment, masked_words


@pytest.mark.parametrize(
    "name",
    ["HF_TOKEN", "--api-key", "OPENAI_API_KEY", "PGPASSWORD", "AWS_SECRET_ACCESS_KEY", "--password", "accessToken",
     "GITHUB_TOKEN", "--client-secret", "apikey", "DB_PASSWD", "CREDENTIALS", "--hf-token", "SECRET_SALT"],
)  # fmt: skip
def test_secrets_are_known_by_name(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize(
    "name",
    ["max_tokens", "--max-num-batched-tokens", "key_cache", "--kv-cache-dtype", "monkey", "tokenizer", "--keyframes",
     "batch", "author", "OMP_NUM_THREADS", "secretary"],
)  # fmt: skip
def test_settings_are_no_secrets(name: str) -> None:
    assert not is_secret(name)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("HF_TOKEN=hf_LEAK1 ./bench.sh --api-key=sk-LEAK2", f"HF_TOKEN={MASK} ./bench.sh --api-key={MASK}"),
        ("./b --token LEAK -n 3", f"./b --token {MASK} -n 3"),
        ("./b --api-key 'LEAK 2' x", f"./b --api-key {MASK} x"),
        ("curl -H 'Authorization: Bearer LEAK' u", f"curl -H 'Authorization: {MASK}' u"),
        ("run --db postgresql://me:LEAK@host/db", f"run --db postgresql://me:{MASK}@host/db"),
        ("export A=1 B_PASSWORD=LEAK; x", f"export A=1 B_PASSWORD={MASK}; x"),
        ("./b --max-tokens 512 --tokens=9 token x", "./b --max-tokens 512 --tokens=9 token x"),
        ("./b --key {key} --token $TOKEN --seed-key=7", "./b --key {key} --token $TOKEN --seed-key=7"),
        ("./b --token --verbose", "./b --token --verbose"),
    ],
)
def test_commands_keep_all_but_their_secrets(text: str, expected: str) -> None:
    assert masked(text) == expected
    assert "LEAK" not in masked(text)
    assert masked(masked(text)) == masked(text)


def test_lists_and_environments_are_masked_too() -> None:
    assert masked_words(["./b", "--api-key", "LEAK", "--n", "3", "A_TOKEN=LEAK"]) == [
        "./b", "--api-key", MASK, "--n", "3", f"A_TOKEN={MASK}",
    ]  # fmt: skip
    assert masked_environment({"HF_TOKEN": "LEAK", "N": 3, "URL": "http://a:LEAK@b"}) == {
        "HF_TOKEN": MASK, "N": 3, "URL": f"http://a:{MASK}@b",
    }  # fmt: skip
