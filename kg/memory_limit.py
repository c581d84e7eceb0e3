"""Limits of this process, never above those that it was started with."""

import resource
from pathlib import Path


def limit_memory(memory_bytes: int) -> None:
    """Limit the growth of the address space from here on; beyond it allocations fail or end the process."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) if _HAS_STATM else 0
    limit(resource.RLIMIT_AS, pages * resource.getpagesize() + memory_bytes)


def limit(what: int, most: int) -> None:
    """Limit one of the resources of ``resource.setrlimit``; a shell or a batch system may allow less."""
    hard = resource.getrlimit(what)[1]
    resource.setrlimit(what, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


_HAS_STATM = Path("/proc/self/statm").is_file()
