"""Containers of a script: which port they are published on, and how they are marked."""

import pytest

from ingest.questions.launches.launch import read_launches
from kg.errors import InputError
from recommender.tune.containers import ContainerCommand

IMAGE = "vllm/vllm-openai:v0.9.0 --model /m/a -t 4"


@pytest.mark.parametrize(
    ("options", "port"),
    [
        ("-d -p 18000:8000", 18000),
        ("--publish=127.0.0.1:18000:8000/tcp -e A=1", 18000),
        ("-p 18000:8000 -p 9000:9000", 18000),
        ("--network host", 8000),
        ("--net=host -it", 8000),
        ("-p 8000", 0),
        ("--gpus all", 0),
    ],
)
def test_the_port_of_this_machine(options: str, port: int) -> None:
    launch = read_launches(f"sudo docker run {options} {IMAGE}\n", "")[0]
    found = ContainerCommand.of(launch.command.words, launch.started.words, 8000)
    assert found is not None
    assert (found.runtime, found.port) == ("docker", port)


def test_a_mark_stands_before_the_image_and_nothing_else_changes() -> None:
    text = f"IMG=vllm/vllm-openai:v0.9.0\npodman run -d -p 1:8000 \\\n  {IMAGE}\n"
    launch = read_launches(text, "")[0]
    found = ContainerCommand.of(launch.command.words, launch.started.words, 8000)
    assert found is not None
    marked = found.labelled(text, "abc/12/3")
    own, image = "--label tunegraph=abc/12/3 --label tunegraph.tune=abc --label tunegraph.process=12", IMAGE
    rest = "--detach=false --tty=false --interactive=false"
    assert marked == text.replace(f"  {image}", f"  {own} {rest} {image}")


def test_what_cannot_be_marked_is_refused() -> None:
    text = f'CMD="docker run -p 1:8000 {IMAGE}"\nexec $CMD\n'
    launch = read_launches(text, "")[0]
    found = ContainerCommand.of(launch.command.words, launch.started.words, 8000)
    assert found is not None
    with pytest.raises(InputError, match="docker run stands where no label can be written"):
        found.labelled(text, "abc/12/3")


def test_a_command_without_a_container() -> None:
    assert ContainerCommand.of(["vllm", "serve", "/m/a"], ["/m/a"], 8000) is None
