"""Flags of a start on several servers, or for one role of a deployment, beside its layout."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from fnmatch import fnmatchcase

from kg.nouns.layout import ParallelLayout
from kg.nouns.setting import SettingPlace
from kg.nouns.values import Value
from kg.terms.dialects import statement
from kg.terms.meanings import OF_VLLM, table
from kg.terms.purposes import plain_key
from kg.terms.setting_registry import ReleaseSettings
from recommender.ranking.paste import OF_DIFFUSION
from recommender.ranking.plan_setting import Origin, PlanSetting, settings_by_key
from recommender.ranking.start import StartConfiguration
from recommender.ranking.starts.flags.layout_flags import of_one_server, spelt_settings
from recommender.ranking.starts.situation import StartSituation

POOLED = {"embedding": "embed", "reranking": "score"}
"""Tasks that end in a vector or a score, by vLLM's name for them (``--task``, 0.6.4 to 0.12)."""
_SAID = frozenset({"runner", "task", "convert", "is_embedding", "hf_overrides"})
"""Settings that say how a server answers."""
FIRST_SERVER = "FIRST_SERVER_IP"
"""Stands for the address of the first server, which a user fills in."""
RANK = "SERVER_RANK"
"""Stands for the place of a server among them, from 0."""
DATA_PARALLEL_PORT = 13389
"""Port of data parallelism between servers in vllm-ascend's tutorials on several nodes
(https://docs.vllm.ai/projects/ascend/en/latest/tutorials/index.html)."""
INIT_PORT = 50000
"""Port of ``--dist-init-addr`` in SGLang's guide (https://docs.sglang.ai/advanced_features/server_arguments.html)."""
TRANSFER_PORTS = {"prefill": 30000, "decode": 30100}
"""Ports of the transfer of caches by role, apart so that both run on one server: vllm-ascend's tutorial on
prefill and decode apart with Mooncake."""

MINDIE_SERVERS = "https://www.hiascend.com/document/detail/en/mindie/230/envpre/instg/mindie_instg_0027.html"
_OF_MINDIE = {"BackendConfig.multiNodesInferEnabled": True, "BackendConfig.interNodeTLSEnabled": False}
"""Settings of MindIE's servers about each other, beside the table of their devices; without certificates."""
PYTORCH = frozenset({"torch", "torch-npu"})
"""Frameworks whose scripts divide nothing by themselves: their launcher starts a process for each device."""
_TRANSFER = "kv_transfer_config"
_SERVES_DIFFUSION = "https://github.com/sgl-project/sglang/tree/main/python/sglang/multimodal_gen"
_TOLD_OF_SERVERS = {
    "mindie": "on each server its MIES_CONTAINER_IP, and the table of all devices in RANKTABLEFILE"
    " (--write-dir makes both)",
    "tensorrt-llm": "a process for each device: srun --mpi=pmix trtllm-llmapi-launch before the command"
    " (--write-dir makes the job)",
}
"""Instructions by which servers of a program find each other, where no setting of it can say so."""


def _servers_of_one(situation: StartSituation, copies: int) -> int:
    """Machines that one of several servers of a service runs on."""
    return max(int(situation.number("nodes") or 1) // copies, 1)


def server_settings(
    situation: StartSituation, layout: ParallelLayout, framework: str, *, transfers: bool
) -> list[PlanSetting]:
    """The settings that servers find each other by; none for one server with both roles.

    Args:
        situation: What is asked.
        layout: How the work is divided.
        framework: Id of the framework.
        transfers: Whether the start has a connector that moves caches between roles.
    """
    layout, copies = of_one_server(layout, framework)
    servers = _servers_of_one(situation, copies)
    told: dict[str, Value] = {}
    found: dict[str, Value] = {}
    if framework in OF_VLLM:
        if servers > 1 and layout.dp % servers == 0:
            told["dp_local"] = layout.dp // servers
            found = {
                "--data-parallel-address": FIRST_SERVER,
                "--data-parallel-rpc-port": DATA_PARALLEL_PORT,
            }
        if situation.phase in TRANSFER_PORTS and transfers:
            sizes = f"{_TRANSFER}.kv_connector_extra_config.{situation.phase}"
            found |= {
                f"{_TRANSFER}.kv_port": str(TRANSFER_PORTS[situation.phase]),
                f"{sizes}.tp_size": layout.tp,
                f"{sizes}.dp_size": layout.dp,
            }
    elif framework == "sglang" and servers > 1:
        told["nodes"] = servers
        found = {"--node-rank": RANK, "--dist-init-addr": f"{FIRST_SERVER}:{INIT_PORT}"}
    made = spelt_settings(told, framework, origin=Origin.KNOWLEDGE)
    if framework == "mindie" and servers > 1:
        made += settings_by_key(
            _OF_MINDIE, Origin.KNOWLEDGE, MINDIE_SERVERS, SettingPlace.JSON, "config.json"
        )
    made += settings_by_key(found, Origin.KNOWLEDGE, place=SettingPlace.JSON)
    return [item for item in made if not situation.script_key(item.name)]  # the script has its own


def pooling_settings(
    situation: StartSituation, release: ReleaseSettings | None, settings: Iterable[PlanSetting]
) -> list[PlanSetting]:
    """Settings that make a server answer with a vector or a score, as its release takes them."""
    row = table("launches")["programs"].get(situation.framework.id, {})
    row = {**table("launches")["programs"].get(row.get("as", ""), {}), **row}
    task = POOLED.get(situation.task, "embed" if situation.facts.get("pooling") is True else "")
    named = {plain_key(item.key) for item in settings} | set(map(plain_key, situation.current or {}))
    if situation.is_training or not task or any(one.partition(".")[0] in _SAID for one in named):
        return []
    told: dict[str, Value] = {}
    for words in row.get("pooled", ()):
        key, _, value = words.format(task=task).partition(" ")
        if release is None or release.look_up(key, suggest=False).usable:
            told[key] = value or True
            break
    name = (situation.problem.situation.model_name or situation.model.id).lower().rpartition("/")[2]
    of_model = (fields for one, fields in row.get("rerankers", {}).items() if fnmatchcase(name, one))
    fields = {key: value for found in of_model for key, value in found.items()}
    shown = {key: json.dumps(value) if isinstance(value, list) else value for key, value in fields.items()}
    return [
        *settings_by_key(told, Origin.KNOWLEDGE, str(row.get("source", ""))),
        *settings_by_key(shown, Origin.KNOWLEDGE, str(row.get("source", "")), SettingPlace.JSON),
    ]


def of_diffusion(start: StartConfiguration) -> StartConfiguration:
    """SGLang's start for a model that denoises: its server of those divides over what it is given."""
    count = 1 if start.layout is None else start.layout.devices
    settings = settings_by_key({OF_DIFFUSION: count}, Origin.KNOWLEDGE, _SERVES_DIFFUSION)
    return replace(start, settings=tuple(settings), layout=None)


def role_settings(
    situation: StartSituation, framework: str, settings: Iterable[PlanSetting]
) -> list[PlanSetting]:
    """Settings that give an engine its role where prefill and decode are apart, without those set already.

    The role itself is told whatever recipes say: an engine that may be either is asked for neither.
    """
    roles = table("launches")["programs"].get(framework, {}).get("roles", {})
    if situation.phase not in roles:
        return []
    hardware = situation.facts.get("hardware", ())
    told = dict(roles[situation.phase])
    for maker in hardware if isinstance(hardware, frozenset) else ():
        told |= roles.get(maker, {})
    present = {plain_key(item.key) for item in settings}
    lacking = {
        key: value for key, value in told.items() if plain_key(key) not in present or key.endswith("kv_role")
    }
    return settings_by_key(lacking, Origin.KNOWLEDGE, place=SettingPlace.JSON)


def with_own_sizes(
    settings: Iterable[PlanSetting], situation: StartSituation, layout: ParallelLayout | None
) -> Iterator[PlanSetting]:
    """The settings, those by which a connector tells the sizes of its own role as the layout has them."""
    own = f".{situation.phase}."
    for item in settings:
        size = item.key.rpartition(own)[2] if layout is not None and own in item.key else ""
        value = {} if layout is None else {"tp_size": layout.tp, "dp_size": layout.dp}
        is_other = size in value and item.value != value[size]
        yield replace(item, value=value[size], origin=Origin.KNOWLEDGE) if is_other else item


def server_lines(
    situation: StartSituation, layout: ParallelLayout, framework: str, *, transfers: bool
) -> list[str]:
    """The differing settings of each server or role, one line each."""
    lines: list[str] = []
    one, copies = (layout, 1) if situation.is_training else of_one_server(layout, framework)
    servers = _servers_of_one(situation, copies)
    now = statement(situation.current or {}, framework).facts
    if layout.ep > 1 and "dp_attention" in now and "ep" not in now:
        lines.append(
            f"now all devices split each expert, which is not modelled: EP {layout.ep} keeps experts whole"
        )
    if framework in PYTORCH and situation.is_training and layout.devices > 1:
        lines.append(_torchrun(layout.devices // servers, servers))
    if framework in OF_VLLM and servers > 1 and one.dp % servers == 0:
        local = one.dp // servers
        lines.append(
            f"server k of {servers}, from 0: the same with --data-parallel-start-rank {local} * k,"
            " and --headless on all but the first"
        )
    if copies > 1:
        each = "a device" if one.devices == 1 else f"{one.devices} devices"
        lines.append(f"{copies} of these servers behind one balancer, each with {each} of its own")
    if servers > 1 and framework in _TOLD_OF_SERVERS:
        lines.append(_TOLD_OF_SERVERS[framework])
    if framework in OF_VLLM and situation.phase in TRANSFER_PORTS and transfers:
        other = next(role for role in TRANSFER_PORTS if role != situation.phase)
        lines.append(
            f"the {other} servers' tp_size and dp_size belong into kv_connector_extra_config.{other},"
            " alike on both sides"
        )
    return lines


def _torchrun(local: int, servers: int) -> str:
    """The command for one process per device (https://docs.pytorch.org/docs/stable/elastic/run.html)."""
    among = f" --nnodes {servers} --node-rank {RANK} --master-addr {FIRST_SERVER}" if servers > 1 else ""
    return f"a process for each device: torchrun{among} --nproc-per-node {local} SCRIPT"
