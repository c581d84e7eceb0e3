"""Hand-overs are read by the programs they are for, where those are here, or by their own grammar."""

import json
import shlex
import shutil
import subprocess
from datetime import UTC, datetime, timedelta

import pytest
import yaml

from kg.errors import InputError
from recommender.green.handover import WRITERS, hand_over
from recommender.green.plan import GreenJob, GreenPlan

NOW = datetime(2026, 11, 24, 12, 0, tzinfo=UTC)
COMMAND = ("python", "train.py", "--name", "a b%c")


def plan(pieces: int = 1) -> GreenPlan:
    job = GreenJob(duration_s=7200 * pieces, deadline=NOW + timedelta(days=2))
    spans = tuple((NOW + timedelta(hours=6 * n + 1), NOW + timedelta(hours=6 * n + 3)) for n in range(pieces))
    return GreenPlan(
        region="DE", now=NOW, job=job, pieces=spans, reason="cleanest", planned_g_per_kwh=123.456
    )


def test_at_gets_the_command_as_one_line_and_the_local_time() -> None:
    text = hand_over(plan(), "at", COMMAND)
    printf, _, rest = text.partition(" | ")
    assert shlex.split(shlex.split(printf)[2]) == list(COMMAND)
    assert rest.strip() == f"at -t {plan().start.astimezone():%Y%m%d%H%M}"


def test_a_line_of_cron_runs_in_its_year_alone() -> None:
    text = hand_over(plan(), "cron", COMMAND)
    start = plan().start.astimezone()
    assert text.split()[:5] == [str(start.minute), str(start.hour), str(start.day), str(start.month), "*"]
    assert '[ "$(date +\\%Y)" = 2026 ] &&' in text
    assert "b\\%c" in text


def test_systemd_understands_the_time() -> None:
    words = shlex.split(hand_over(plan(), "systemd", COMMAND))
    when = next(word.partition("=")[2] for word in words if word.startswith("--on-calendar="))
    assert when == "2026-11-24 13:00:00 UTC"
    assert words[-4:] == list(COMMAND)
    if shutil.which("systemd-analyze"):
        assert (
            subprocess.run(["systemd-analyze", "calendar", when], check=False, capture_output=True).returncode
            == 0
        )


def test_slurm_chains_the_pieces_with_a_signal_for_a_checkpoint() -> None:
    [one] = hand_over(plan(), "slurm", COMMAND).splitlines()
    assert f"--begin={plan().start.astimezone():%Y-%m-%dT%H:%M:%S}" in one
    assert "--time=120" in one
    assert "--signal" not in one
    note, first, second = hand_over(plan(2), "slurm", COMMAND).splitlines()
    assert note.startswith("#")
    assert "--signal=B:USR1@120" in first
    assert "--dependency=afterany:$job" in second
    assert subprocess.run(["sh", "-n", "-c", first + "\n" + second], check=False).returncode == 0


@pytest.mark.parametrize("kind", ["k8s", "kueue"])
def test_kubernetes_reads_the_stream_as_it_is_and_gets_a_suspended_job(kind: str) -> None:
    """As kubectl reads it: YAML, because it does not begin with a brace; the patches are comments."""
    text = hand_over(plan(2 if kind == "k8s" else 1), kind, COMMAND, "night")
    assert text.startswith("#")
    documents = list(yaml.safe_load_all(text))
    job = documents[-1]
    assert (job["apiVersion"], job["kind"], job["spec"]["suspend"]) == ("batch/v1", "Job", True)
    [container] = job["spec"]["template"]["spec"]["containers"]
    assert container["command"] == list(COMMAND)
    assert job["spec"]["template"]["spec"]["restartPolicy"] == "Never"
    patches = [shlex.split(line.partition(": ")[2]) for line in text.splitlines() if line.startswith("#")]
    specs = [json.loads(words[words.index("-p") + 1])["spec"] for words in patches]
    if kind == "kueue":
        assert documents[0]["spec"]["stopPolicy"] == "Hold"
        assert job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == documents[0]["metadata"]["name"]
        assert specs == [{"stopPolicy": "None"}]
    else:
        assert [spec["suspend"] for spec in specs] == [False, True, False]


@pytest.mark.parametrize("kind", ["at", "cron", "systemd", "kueue"])
def test_what_starts_a_job_once_gets_no_plan_in_pieces(kind: str) -> None:
    with pytest.raises(InputError, match="has 2 pieces"):
        hand_over(plan(2), kind, COMMAND)


@pytest.mark.parametrize("name", ["a;rm -rf ~", "$(reboot)", "A", "-a", "a" * 64, "", "a b"])
@pytest.mark.parametrize("kind", sorted(WRITERS))
def test_a_name_that_a_shell_would_read_is_refused(kind: str, name: str) -> None:
    with pytest.raises(InputError, match="--name"):
        hand_over(plan(), kind, COMMAND, name)


def test_a_line_of_cron_stays_one_line() -> None:
    with pytest.raises(InputError, match="line break"):
        hand_over(plan(), "cron", ("sh", "-c", "true\nreboot"))


def test_json_has_the_shape_of_the_carbon_aware_sdk() -> None:
    [answer] = json.loads(hand_over(plan(), "json", ()))
    assert answer["location"] == "DE"
    assert answer["optimalDataPoints"] == [
        {"location": "DE", "timestamp": "2026-11-24T13:00:00+00:00", "duration": 120, "value": 123.46}
    ]


@pytest.mark.parametrize("kind", sorted(WRITERS))
def test_every_kind_names_a_place_for_a_command_that_is_not_given(kind: str) -> None:
    assert hand_over(plan(), kind, ())
