"""Taking the network away from the process that runs a user's query: by the kernel, not by reading the query.

Two ways, both without privileges. A network namespace of its own has no interface that is up, not even the
loopback (Linux, user_namespaces(7), network_namespaces(7)); some systems forbid it to users. A limit of no
further descriptors (getrlimit(2)) leaves what is open readable, and makes every new socket fail; it comes
after the graph was opened.
"""

from __future__ import annotations

import ctypes
import resource
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_NEW_USER, _NEW_NETWORK = 0x10000000, 0x40000000
"""CLONE_NEWUSER and CLONE_NEWNET of linux/sched.h."""

EAGER_FILES = 16
"""Files of one store that the engine opens at once (kInitialLoadLimit in RocksDB's version_builder.cc);
others are opened when they are read, which a limit of descriptors would forbid."""


def leave_network() -> bool:
    """Move this process, which has one thread, into a network without a way out; return whether it worked."""
    try:
        unshare = ctypes.CDLL(None, use_errno=True).unshare
    except (OSError, AttributeError):
        return False
    return bool(unshare(_NEW_USER | _NEW_NETWORK) == 0)


def open_no_more() -> bool:
    """Let this process open no further file or socket; return whether it worked."""
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))
    except (OSError, ValueError):
        return False
    return True


def opens_at_once(store: Path) -> bool:
    """Return whether the engine has all files of a store open once it is open."""
    return len(list(store.glob("*.sst"))) <= EAGER_FILES
