"""Statements of C and C++ sources."""

from tools.oracle.c_statements import c_statements
from tools.oracle.python_statements import Statement

SOURCE = r"""
void f() {
    LLAMA_LOG_ERROR("%s: failed to allocate %.2f MiB for " "the cache\n", __func__, size / 1024.0);
    throw std::runtime_error(format("invalid width: %d, not %s", hparams.n_width, name.c_str()));
    TORCH_CHECK(a == b, "Expected ", a, " ranks (", b, "), but \"none\"", PTA_ERROR(ErrCode::PARAM));
    WARN("sent %" PRId64 " of %d bytes to %p", done, total, peer);
    WARN("Call to " name " failed with error %s", strerror(errno));
    TLLM_CHECK_WITH_INFO(a, fmtstr("width (" FMT_DIM ") of %d", width, most));
    ULOG_WARN(TAG, "queue " << queue_.depth << " full");
    op.emitError() << "needs " << needBits << " bits";
    if (WARNING) return;
}
"""


def test_printf_streams_and_lists_give_templates() -> None:
    found = list(c_statements(SOURCE, "part"))
    assert found == [
        Statement(
            level="error", where="part", template="{function}: failed to allocate {size} MiB for the cache\n"
        ),
        Statement(level="raise", where="runtime_error", template="invalid width: {n_width}, not {name}"),
        Statement(
            level="raise",
            where="TORCH_CHECK",
            template='Expected {a} ranks ({b}), but "none"{param}',
        ),
        Statement(level="error", where="part", template="sent {done} of {total} bytes to {peer}"),
        Statement(level="error", where="part", template="Call to … failed with error {errno}"),
        Statement(level="raise", where="TLLM_CHECK_WITH_INFO", template="width ({width}) of {most}"),
        Statement(level="warning", where="part", template="queue {depth} full"),
        Statement(level="raise", where="part", template="needs {needbits} bits"),
    ]
