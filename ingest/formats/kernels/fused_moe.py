"""Tuned tables of fused mixture-of-experts kernels, as vLLM and SGLang keep them: tokens to configuration."""

from ingest.formats.format import Format
from ingest.formats.kernels.table_layout import TableLayout

LAYOUT = TableLayout(operator="fused_moe", title="fused-MoE tuning table", sizes=("E", "N"), key="M")

FORMAT = Format(
    name="fused-moe",
    title="vLLM or SGLang fused-MoE table (E=..,N=..,device_name=...json)",
    sniff=LAYOUT.matches,
    read=LAYOUT.read,
)
