"""Tuned tables of block-scaled matrix products, as vLLM and SGLang keep them: rows to configuration.

An example is ``N=1536,K=7168,device_name=NVIDIA_H20,dtype=fp8_w8a8,block_shape=[128,128].json``.
"""

from ingest.formats.format import Format
from ingest.formats.kernels.table_layout import TableLayout

LAYOUT = TableLayout(
    operator="w8a8_block_fp8_gemm", title="block-scaled GEMM tuning table", sizes=("N", "K"), key="M"
)

FORMAT = Format(
    name="block-gemm",
    title="vLLM or SGLang block-scaled GEMM table (N=..,K=..,device_name=...json)",
    sniff=LAYOUT.matches,
    read=LAYOUT.read,
)
