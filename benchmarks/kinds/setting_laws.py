"""Laws of single settings: for what is there, beyond defaults, and filled in or said to be open."""

import re

from benchmarks.kinds.replies import Reply, settings_of
from kg.nouns.release import release_key
from kg.terms.setting_registry import registry, softwares

_LEFT = frozenset({"DRAFT_MODEL", "FIRST_SERVER_IP", "SERVER_RANK"})
"""Words of starts that stand for what their user alone knows; a secret's is its own name's."""
_EXPERTS = re.compile(r"expert|moe|eplb")
_VISION = re.compile(r"(^|\.)(mm|image|vision|vit|video)-|limit-mm")
_STATE = re.compile(r"mamba|gdn|linear-attention")
_OTHER_CHIP = {
    "huawei": re.compile(r"^(nccl-|rccl|hip-|vllm-rocm|cuda-visible)|flashinfer|aiter"),
    "nvidia": re.compile(r"ascend|^hccl|\bnpu|^task-queue|^cpu-affinity-conf|^vllm-rocm|aiter"),
    "amd": re.compile(r"ascend|^hccl|\bnpu|^task-queue|^cpu-affinity-conf|flashinfer"),
}


def configures_what_is_there(reply: Reply) -> str | None:
    """No part is configured that the model or the chip has not."""
    if not reply.is_answered:
        return None
    listed, vendor = reply.situation.listed, reply.situation.vendor
    understood = reply.content.get("understood") or {}
    own = _own_names(reply)
    for key, value in settings_of(reply.start):
        if value.lower() in {"false", "none", "0"} or key in own:  # what the user sets is the user's
            continue
        both = f"{key}={value.lower()}"
        if vendor in _OTHER_CHIP and _OTHER_CHIP[vendor].search(key):
            return f"{both} on {vendor}"
        if "fp8" in both and understood.get("has_fp8") is False:
            return f"{both} on a chip without fp8"
        if listed is None or not listed.facts.get("layers"):
            continue
        if _EXPERTS.search(key) and not listed.size("experts") and "decoder" in listed.architecture:
            return f"{both} for a dense model"
        if (
            _VISION.search(key)
            and listed.architecture in {"decoder", "moe-decoder"}
            and not understood.get("vision_tower")
        ):
            return f"{both} for a model without vision"
        if _STATE.search(key) and listed.facts.get("attention_kind") == "full":
            return f"{both} for a model of full attention"
        if (
            key.endswith("speculative-config.method")
            and value.endswith("mtp")
            and not listed.size("mtp_layers")
        ):
            return f"{both} for a model without such layers"
    return ""


def _own_names(reply: Reply) -> set[str]:
    """Settings of the user's launch, in its own spelling and in that of the start's release."""
    keys = {item.key for item in reply.situation.settings}
    if (framework := str(reply.start.get("framework") or "")) in softwares():
        release = registry(framework).at(str(reply.start.get("version") or ""))
        found = [release.look_up(key, suggest=False).setting for key in keys]
        keys |= {item.key for item in found if item is not None}
    return {key.lstrip("-").replace("_", "-").lower() for key in keys}


_ALWAYS = {"--enable-chunked-prefill": "0.11.0"}
"""Flags that vLLM sets for every text model since a release (is_chunked_prefill_supported)."""


_READS_ALONE = re.compile(r"(?i)rerank|embed|reward|classif")


def _writes_by_attention(reply: Reply) -> bool:
    """True if the model is listed as a decoder of full attention, and its name speaks of no other work."""
    listed = reply.situation.listed
    return (
        listed is not None
        and listed.architecture in {"decoder", "moe-decoder"}
        and listed.facts.get("attention_kind") == "full"
        and not _READS_ALONE.search(reply.situation.model)
    )


def offers_no_default(reply: Reply) -> str | None:
    """No change sets nothing but what the release does without being told, where neither start nor user say else."""
    framework, version = str(reply.start.get("framework") or ""), str(reply.start.get("version") or "")
    if not reply.is_answered or framework not in softwares():
        return None
    release = registry(framework).at(version)
    begun = {key for key, _ in settings_of(reply.start)}
    begun |= _own_names(reply)
    for change in reply.content.get("changes") or ():
        said = []
        for item in change["settings"]:
            found = release.look_up(str(item["key"]), suggest=False)
            if (
                found.setting is None
                or found.negated
                or str(item["key"]).lstrip("-").replace("_", "-").lower() in begun
            ):
                said.append(False)
                continue
            default = found.setting.default_in(found.release)
            is_stated = default is not None and default.value is not None  # else the release computes it
            by_model = any("plain decoder" in case.when for case in found.setting.resolved_in(found.release))
            is_stated = is_stated and not (by_model and not _writes_by_attention(reply))
            since = _ALWAYS.get(found.setting.key)
            is_always = since is not None and release_key(found.release) >= release_key(since)
            said.append(is_always or (is_stated and found.setting.is_default(item["value"], found.release)))
        if said and all(said):
            return f"{change['settings'][0]['key']}={change['settings'][0]['value']} is the default of {framework}"
    return ""


def says_what_to_fill(reply: Reply) -> str | None:
    """Each word in capitals that a start leaves to its user is among what it says that it needs."""
    if not reply.is_answered:
        return None
    left = {value.partition(":")[0] for _, value in settings_of(reply.start)} & _LEFT
    said = " ".join(reply.start.get("needs") or ())
    return ", ".join(sorted(word for word in left if word not in said))
