"""The table of arguments of llama.cpp."""

from pathlib import Path

from tools.oracle.settings.cpp_table import table_arguments
from tools.oracle.settings.source import Mined

HEADER = """
struct common_params_sampling {
    float top_p = 0.95f;  // off at 1
};

struct common_params {
    int32_t n_parallel = 1;
    int32_t n_gpu_layers = -1;
    bool use_mmap = true;
    struct common_params_sampling sampling;
};
"""
TABLE = """
    if (ex == LLAMA_EXAMPLE_SERVER) {
        params.n_parallel = -1;     // by itself
    }
    add_opt(common_arg(
        {"--top-p"}, "N",
        "said",
        [](common_params & params, const std::string & value) {
            params.sampling.top_p = std::stof(value);
        }
    ));
    add_opt(common_arg(
        {"-np", "--parallel"}, "N",
        "said",
        [](common_params & params, int value) {
            params.n_parallel = value;
        }
    ).set_env("LLAMA_ARG_N_PARALLEL").set_examples({LLAMA_EXAMPLE_SERVER}));
    add_opt(common_arg(
        {"--mmap"}, {"--no-mmap"},
        "said",
        [](common_params & params, bool value) {
            params.use_mmap = value;
        }
    ));
    add_opt(common_arg(
        {"-ngl", "--gpu-layers"}, "N",
        "said",
        [](common_params & params, const std::string & value) {
            if (value == "all") { params.n_gpu_layers = -2; } else { params.n_gpu_layers = std::stoi(value); }
        }
    ));
    add_opt(common_arg(
        {"--other"},
        "said",
        [](common_params & params) {
            params.other = true;
        }
    ).set_examples({LLAMA_EXAMPLE_SPECULATIVE}));
"""


def read(folder: Path) -> dict[str, Mined]:
    (folder / "common").mkdir()
    (folder / "common" / "common.h").write_text(HEADER)
    (folder / "common" / "arg.cpp").write_text(TABLE)
    return {item.key: item for item in table_arguments(folder, "common/arg.cpp", "SERVER")}


def test_type_and_default_are_those_of_the_record_and_of_the_program(tmp_path: Path) -> None:
    found = read(tmp_path)
    kinds = {key: (item.type, item.default if item.stated else ...) for key, item in found.items()}
    assert kinds == {
        "--top-p": ("float", 0.95),
        "--parallel": ("int", -1),
        "LLAMA_ARG_N_PARALLEL": ("int", ...),
        "--mmap": ("bool", True),
        "--gpu-layers": ("str", ...),
    }
    assert found["--mmap"].negation == "--no-mmap"
    assert (found["--parallel"].aliases, found["--parallel"].line) == (("-np",), 12)


WORDS = """
    add_opt(common_arg({"--flash"}, "text", [](common_params & params) {}));
    add_opt(common_arg({"--pair"}, "A", "B", "text",
        [](common_params & params, const std::string & a, const std::string & b) {}));
    add_opt(common_arg({"--never"}, "text", [](common_params & params) {}).set_excludes({LLAMA_EXAMPLE_SERVER}));
"""


def test_switches_and_pairs_of_words_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "arg.cpp").write_text(WORDS)
    found = {item.key: item for item in table_arguments(tmp_path, "arg.cpp", "SERVER")}
    assert set(found) == {"--flash", "--pair"}
    assert (found["--flash"].type, found["--flash"].default) == ("bool", False)
    assert (found["--pair"].type, found["--pair"].nargs) == ("list", 2)
    assert list(table_arguments(tmp_path, "absent.cpp", "SERVER")) == []
