"""Tuned tables of Mamba's ``selective_state_update`` kernel, as vLLM keeps them: batch size to configuration.

An example is ``headdim=64,dstate=128,device_name=NVIDIA_B200,cache_dtype=float16.json``.
"""

from ingest.formats.format import Format
from ingest.formats.kernels.table_layout import TableLayout

LAYOUT = TableLayout(
    operator="mamba_selective_state_update",
    title="selective_state_update tuning table",
    sizes=("headdim", "dstate"),
    key="batch",
    precision="cache_dtype",
)

FORMAT = Format(
    name="mamba-state",
    title="vLLM selective_state_update table (headdim=..,dstate=...json)",
    sniff=LAYOUT.matches,
    read=LAYOUT.read,
)
