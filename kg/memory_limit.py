"""A limit of the memory of this process."""

import resource
from pathlib import Path


def limit_memory(memory_bytes: int) -> None:
    """Let the address space grow by so much from here on; what asks for more gets a MemoryError or ends."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) if _HAS_STATM else 0
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    most = pages * resource.getpagesize() + memory_bytes
    resource.setrlimit(
        resource.RLIMIT_AS, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard)
    )


_HAS_STATM = Path("/proc/self/statm").is_file()
