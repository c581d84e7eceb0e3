"""Options that clap makes of the fields of a record."""

from pathlib import Path

from tools.oracle.settings.clap_fields import clap_arguments

SOURCE = """
#[derive(Clone, ValueEnum)]
enum Kind {
    Float16,
    #[clap(name = "bfloat16")]
    BFloat16,
}

struct Args {
    /// said
    #[clap(default_value = "512", long, env)]
    max_requests: usize,

    #[clap(long, env, value_enum)]
    dtype: Option<Kind>,

    #[clap(long, env)]
    is_plain: bool,

    #[clap(long, env, default_value = "true", num_args = 0..=1, default_missing_value = "true")]
    cuts: bool,

    #[clap(long)]
    #[redact(partial)]
    token: Option<String>,
}
"""


def test_options_have_types_choices_and_defaults_and_most_are_variables_too(tmp_path: Path) -> None:
    (tmp_path / "main.rs").write_text(SOURCE, encoding="utf-8")
    found = {item.key: item for item in clap_arguments(tmp_path, "main.rs")}
    assert {key: (item.type, item.default, item.stated) for key, item in found.items() if key[0] == "-"} == {
        "--max-requests": ("int", 512, True),
        "--dtype": ("str", None, False),
        "--is-plain": ("bool", False, True),
        "--cuts": ("bool", True, True),
        "--token": ("str", None, False),
    }
    assert found["--dtype"].choices == ("float16", "bfloat16")
    assert found["--cuts"].nargs == "?"
    assert {key for key in found if key[0] != "-"} == {"MAX_REQUESTS", "DTYPE", "IS_PLAIN", "CUTS"}
