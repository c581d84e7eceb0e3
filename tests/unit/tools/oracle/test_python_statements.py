"""Statements of Python sources."""

import pytest

from tools.oracle.python_statements import Statement, python_statements

MODULE = """
LIMIT_TEXT = "Fewer blocks than "
logger = get_logger()
def check(config, free):
    if free < 1:
        raise ValueError(f"{LIMIT_TEXT}{config.num_blocks} blocks, {free / GIB:.2f} GiB free")
    logger.warning("Asked for %d of %s (%.1f%%)", config.max_len, name_of(config), share)
    logger.error("{} of {total} lost".format(len(lost), total=config.world_size))
    text = (
        "A text in "
        "two parts, " + config["model_path"]
    )
    assert config.ok, text
    warnings.warn("old flag " + flag, DeprecationWarning)
    logging.log(logging.CRITICAL, "rank %(rank)s stops" % {"rank": my_rank})
    raise RuntimeError("one" if free else f"other {free}") from None
    parser.error(f"--width {args.width} is odd")
    print(f"no {statement}")
"""


def test_each_form_of_text_gives_its_template_with_names_level_and_place() -> None:
    assert list(python_statements(MODULE, "checks")) == [
        Statement(
            level="raise",
            where="ValueError",
            template="Fewer blocks than {num_blocks} blocks, {free} GiB free",
        ),
        Statement(level="warning", where="checks", template="Asked for {max_len} of {config} ({share}%)"),
        Statement(level="error", where="checks", template="{num_lost} of {world_size} lost"),
        Statement(level="raise", where="AssertionError", template="A text in two parts, {model_path}"),
        Statement(level="warning", where="checks", template="old flag {flag}"),
        Statement(level="critical", where="checks", template="rank {my_rank} stops"),
        Statement(level="raise", where="RuntimeError", template="one"),
        Statement(level="raise", where="RuntimeError", template="other {free}"),
        Statement(level="raise", where="checks", template="--width {width} is odd"),
    ]


@pytest.mark.parametrize(
    ("source", "template"),
    [
        ("raise E(f'{{x}} {a.b}')", "{{x}} {b}"),  # braces stay braces
        ("raise E(f'{x.shape} {x.shape}')", "{x_shape} {x_shape}"),
        ("raise E(f'{format_bytes(need)} {2 * half}')", "{need} {half}"),
        ("raise E(f'{a if b else c} {not d}')", "{a} {d}"),
        ("def f():\n    m = 'first'\n    m = f'last {n}'\n    raise E(m)", "last {n}"),
        ("m = m + 'x'\nraise E(m)", "{m}x"),
    ],
)
def test_names_are_the_last_ones_that_say_something(source: str, template: str) -> None:
    assert [item.template for item in python_statements(source, "m")] == [template]


def test_a_name_of_another_function_is_not_taken() -> None:
    source = "def f():\n    m = 'of f'\ndef g(m):\n    raise E(m)\n    raise E(m + ' end')"
    assert [item.template for item in python_statements(source, "m")] == ["{m} end"]
