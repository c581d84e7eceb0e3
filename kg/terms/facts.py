"""The vocabulary of facts that decide where a strategy applies.

A condition (:mod:`kg.terms.conditions`) may read these facts and no others, so that a misspelt one is a
fault of the file and never an unknown of every question.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum


class FactType(StrEnum):
    """The type of a fact's value."""

    NUMBER = "number"
    FLAG = "flag"
    TEXT = "text"
    NAMES = "names"
    VERSION = "version"


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionFact:
    """A fact that a question may state.

    Attributes:
        name: How conditions and ``--trait`` call it.
        type: Of its value. ``names`` is a set of names that the thing goes by, such as a device and all
            that is above it in the hardware tree.
        label: What it is, in words that finish "if ...", without a verb.
        label_zh: The same in Chinese.
        unit: SI symbol of a number; empty for a count, a share or another type.
        keyed: Whether it is a family of facts by key, such as ``setting["--max-num-seqs"]``.
    """

    name: str
    type: FactType
    label: str
    label_zh: str
    unit: str = ""
    keyed: bool = False


def _facts(type_: FactType, rows: str) -> list[QuestionFact]:
    facts = []
    for row in rows.strip().splitlines():
        name, label, label_zh, *unit = (cell.strip() for cell in row.split("|"))
        facts.append(
            QuestionFact(
                name=name.removesuffix("[]"),
                type=type_,
                label=label,
                label_zh=label_zh,
                unit=unit[0] if unit else "",
                keyed=name.endswith("[]"),
            )
        )
    return facts


OBSERVATIONS = frozenset({"bottleneck", "setting"})
"""Facts that somebody saw: a bottleneck or a setting that a question does not state was not seen there."""

FACTS: dict[str, QuestionFact] = {
    fact.name: fact
    for fact in [
        *_facts(
            FactType.NAMES,
            """
            model | model, its family and its kind of network | 模型及其系列与网络类型
            hardware | device and what it belongs to | 设备及其所属系列
            framework | program that runs the model | 运行框架
            attention | kinds of attention (full, grouped, latent, sliding, linear, sparse, none) | 注意力类型
            """,
        ),
        *_facts(
            FactType.TEXT,
            """
            phase | phase (training, serving, prefill, decode, kernel) | 阶段
            draft | what drafts tokens (any, none, mtp, eagle3, dflash, suffix, ngram, model) | 投机方式
            role | role of the server (mixed, prefill, decode) | 服务器角色
            topology | how the devices of a server are linked | 服务器内互联方式
            precision | precision of the weights and activations | 精度
            optimizer | optimiser | 优化器
            normalisation | kind of normalisation (rms, layer, batch) | 归一化类型
            activation | activation function of the MLP | 激活函数
            position | position encoding (rotary, learned, alibi, none) | 位置编码
            language | language of the kernel (triton, ascend-c, cuda, opencl) | 算子编程语言
            operator | operator | 算子
            objective | metric that decides | 目标指标
            """,
        ),
        *_facts(
            FactType.NUMBER,
            """
            parameters | parameters of the model | 模型参数量
            layers | layers of the model | 层数
            heads | attention heads | 注意力头数
            kv_heads | key-value heads | KV头数
            experts | routed experts of the model | 路由专家数
            experts_per_token | experts that see one token | 每token专家数
            shared_experts | shared experts | 共享专家数
            expert_intermediate | width of one expert | 专家宽度
            draft_layers | draft (multi-token prediction) layers that the model ships | 自带MTP层数
            window | tokens of the sliding window | 滑动窗口
            memory_bytes | memory of a device | 单卡显存 | B
            devices | devices | 设备数
            nodes | servers | 服务器数
            input_len | tokens of a prompt | 输入长度
            output_len | tokens of an answer | 输出长度
            seq_len | tokens of a training sequence | 训练序列长度
            batch | batch size | 批大小
            concurrency | requests served at once | 并发数
            shared_prefix_share | share of a prompt that earlier prompts had too | 共享前缀占比
            tpot_limit | limit on the time between output tokens | TPOT上限 | s
            ttft_limit | limit on the time to the first token | TTFT上限 | s
            weight_share | share of the devices' memory that the weights take | 权重占显存比
            tp | tensor-parallel size | 张量并行
            pp | pipeline-parallel size | 流水线并行
            dp | data-parallel size | 数据并行
            ep | expert-parallel size | 专家并行
            cp | context-parallel size | 上下文并行
            bottleneck[] | share of the time of the bottleneck | 瓶颈占比
            """,
        ),
        *_facts(
            FactType.FLAG,
            """
            unified_bus | the devices share one memory-addressed bus | 统一总线
            has_bf16 | the device computes bfloat16 | 支持BF16
            has_fp8 | the device computes FP8 | 支持FP8
            has_fp4 | the device computes FP4 | 支持FP4
            has_int8 | the device computes INT8 | 支持INT8
            arm_host | the host has an Arm processor | ARM主机
            virtual_machine | the host is a virtual machine | 虚拟机
            disaggregated | prefill and decode run on servers of their own | PD分离
            speculative | tokens are drafted | 投机解码
            quantised | the weights are quantised | 权重量化
            vision_tower | the model has a vision encoder | 含视觉编码器
            pooling | the model gives a vector or a score, not text | 输出向量或得分
            variable_lengths | sequence lengths vary | 变长序列
            memory_short | the memory is nearly full | 显存紧张
            deterministic | results must be reproducible bit by bit | 要求确定性
            accuracy_budget | some loss of accuracy is allowed | 允许精度损失
            full_graph | the model runs as one captured graph | 整图模式
            """,
        ),
        QuestionFact(
            name="setting",
            type=FactType.TEXT,
            label="current value of the setting",
            label_zh="当前设置值",
            keyed=True,
        ),
        QuestionFact(
            name="software",
            type=FactType.VERSION,
            label="version of the software",
            label_zh="软件版本",
            keyed=True,
        ),
    ]
}
"""Every fact by its name."""


def nearest_facts(name: str) -> list[str]:
    """Names of facts that are spelt like ``name``, nearest first."""
    return get_close_matches(name, FACTS, n=3, cutoff=0.5)
