"""Process groups: which one a communicator is, and what it is used for."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from ingest.profiles.facts.details import ProcessGroup
from ingest.profiles.facts.run import Rank
from recommender.diagnosis.rank.collectives import collectives_of


def rank_name(rank: Rank, path: str) -> str:
    """The name of a rank: its number, else its folder, else the last part of the path that was read."""
    if rank.rank is not None:
        return str(rank.rank)
    return rank.folder if rank.folder not in {"", "."} else Path(path).name


def stage_of(rank: Rank) -> int | None:
    """The stage, from parallel sizes and rank number as Megatron counts them; None if unknown.

    Without sizes it is the place in the group of a pipeline; one as large as the job has all of its ranks.
    """
    stages, world = rank.parallel.get("pipeline_model_parallel_size"), rank.parallel.get("world_size")
    if rank.rank is None or not isinstance(world, int):
        return None
    if isinstance(stages, int):
        return rank.rank * stages // world if stages > 1 and world >= stages else None
    groups = [(item.about, item.ranks, len(item.ranks)) for item in rank.details.groups]
    groups += [(call.about, call.ranks, call.members) for call in rank.details.group_calls]
    for about, members, size in groups:
        if size > 1 and _PIPELINE.search(about):
            if rank.rank in members:
                return members.index(rank.rank)
            if size == world:
                return rank.rank
    return None


_PIPELINE = re.compile(r"(?i)(?:^|_)(?:pp|pipeline)(?:_|$)")
_KINDS = (
    ("pp", ("send", "recv", "receive")),
    ("ep", ("alltoall",)),
    ("embd", ("allreduce",)),
    ("dp", ("reducescatter", "allgather", "allreduce")),
    ("tp", ("reducescatter", "allgather", "allreduce")),
)
"""Beginnings of the names of groups (Megatron's), and operators that run in them; of several that fit a group
the first counts. The group of tied embeddings spans stages, so it fits no other one that reduces."""


def group_of(
    name: str, present: tuple[int, ...], kinds: set[str], ranks: Sequence[Rank]
) -> ProcessGroup | None:
    """The process group that a communicator is, by its name, else by its members and what runs in it.

    Args:
        name: Of the communicator.
        present: Profiled ranks that use it.
        kinds: Names of the operators that run in it, small and without ``_``.
        ranks: All profiled ranks.
    """
    stated = [group for rank in ranks if rank.rank in present for group in rank.details.groups]
    by_name = next((group for group in stated if group.name == name), None)
    if by_name is not None:
        return by_name
    profiled = {rank.rank for rank in ranks}
    fitting = [
        group for group in stated if len(group.ranks) > 1 and set(group.ranks) & profiled == set(present)
    ]
    for start, operators in _KINDS:
        runs = any(operator in kind for kind in kinds for operator in operators)
        for group in fitting:
            if runs and group.about.startswith(start):
                return group
    members = {group.ranks for group in fitting}
    if len(members) != 1:
        return None
    return next((group for group in fitting if _use(group.about)), fitting[0])  # before a default one alike


def spans_stages(group: tuple[int, ...], rank: Rank) -> bool:
    """True if members of a group are of different pipeline stages."""
    stages, world = rank.parallel.get("pipeline_model_parallel_size"), rank.parallel.get("world_size")
    if not isinstance(stages, int) or not isinstance(world, int) or stage_of(rank) is None:
        return False
    return len({member * stages // world for member in group}) > 1


DATA, TENSOR, CONTEXT, EXPERTS, STAGES = "data", "tensor", "context", "experts", "stages"
"""Uses of a group whose reductions and gathers are told apart."""


def uses_of_groups(ranks: Sequence[Rank]) -> Mapping[str, str]:
    """Uses of communicators by their names, as far as the described groups tell.

    One whose members are of different pipeline stages has the use ``STAGES``, such as that of tied
    embeddings. Others follow from the parts of the group's name as Megatron forms it (``"tp"``, ``"dp_cp"``).
    """
    held: dict[str, tuple[set[int], set[str]]] = {}
    for rank in ranks:
        for item in collectives_of(rank):
            present, kinds = held.setdefault(item.group, (set(), set()))
            if rank.rank is not None:
                present.add(rank.rank)
            kinds.add(item.name.lower().replace("_", ""))
    found = {}
    told = {call.group: call.about for rank in ranks for call in rank.details.group_calls}
    for name, (present, kinds) in held.items():
        group = group_of(name, tuple(sorted(present)), kinds, ranks)
        crosses = group is not None and any(spans_stages(group.ranks, rank) for rank in ranks)
        use = STAGES if crosses else _use(told.get(name, "") if group is None else group.about)
        if use:
            found[name] = use
    return found


_WHOLE = {"tensor", "data", "context", "pipeline", "expert"}
"""Words of Megatron's groups (``TENSOR_MODEL_PARALLEL_GROUP``); PyTorch's have a letter (``mesh_tp``)."""
_FILLING = re.compile("mesh|model|parallel|group|with")
"""Words of both that tell no use."""


def _use(about: str) -> str:
    """The use of a group within a stage; empty where its name tells none."""
    words = [word for word in about.lower().split("_") if not _FILLING.fullmatch(word)]
    parts = {f"{word[0]}p" if word in _WHOLE else "ep" if word == "exp" else word for word in words}
    if "dp" in parts and "tp" not in parts:
        return DATA
    if "ep" in parts:
        return EXPERTS
    return {frozenset({"tp"}): TENSOR, frozenset({"mp"}): TENSOR, frozenset({"cp"}): CONTEXT}.get(
        frozenset(parts), ""
    )
