"""Limits hold from where they are set, and are never above those of whoever started the process."""

import subprocess
import sys

import pytest

LIMIT = """
import resource
from kg.memory_limit import limit
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
limit(resource.RLIMIT_NOFILE, 50)
assert resource.getrlimit(resource.RLIMIT_NOFILE) == (50, hard)
resource.setrlimit(resource.RLIMIT_NOFILE, (30, 40))
limit(resource.RLIMIT_NOFILE, 50)
assert resource.getrlimit(resource.RLIMIT_NOFILE) == (40, 40)
"""
GROW = """
from kg.memory_limit import limit_memory
held = bytearray(200 << 20)
limit_memory(100 << 20)
more = bytearray(50 << 20)  # what was there does not count
try:
    bytearray(100 << 20)
except MemoryError:
    print("ended")
"""


@pytest.mark.parametrize(("program", "said"), [(LIMIT, ""), (GROW, "ended\n")], ids=["limit", "memory"])
def test_a_limit_holds(program: str, said: str) -> None:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == said
