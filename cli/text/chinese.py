"""Chinese for the texts that the program prints, by their English; ``{name}`` stands for what varies."""

from cli.text.chinese_lists import LISTS
from cli.text.chinese_reports import REPORTS

TEMPLATES: dict[str, str] = {
    **LISTS,
    **REPORTS,
    # plans
    "note": "说明",
    "{work} on {hardware}, by {metric}": "{work}，硬件 {hardware}，目标：{metric}",
    "{asked} serve": "{asked} 推理",
    "{asked} serve ({sizes})": "{asked} 推理（{sizes}）",
    "{asked} train": "{asked} 训练",
    "{asked} train ({sizes})": "{asked} 训练（{sizes}）",
    "Start with {framework}: {layout}, {expected}": "起点（{framework}）：{layout}，{expected}",
    "Start with {framework}: {layout}": "起点（{framework}）：{layout}",
    "Start with {framework}, {expected}": "起点（{framework}），{expected}",
    "Start, {expected}": "起点，{expected}",
    "Start: {layout}": "起点：{layout}",
    "Start": "起点",
    "one device": "单卡",
    "{metric} {value} ({low} to {high}, {tier})": "{metric} {value}（{low} 至 {high}，{tier}）",
    "Or {layout}, {expected}; recipes agree by {share}": "备选 {layout}，{expected}；官方配方一致度 {share}",
    "Or {layout}, {expected}": "备选 {layout}，{expected}",
    "Or {layout}": "备选 {layout}",
    "Worth testing on it, in this order:": "建议按以下顺序在此基础上测试：",
    "change": "改动",
    "gain (90 %)": "收益（90 %）",
    "chance": "把握",
    "known": "依据",
    "documented": "仅有文档",
    "published": "已发表",
    "modelled": "建模",
    "measured": "实测",
    "measured here": "本机实测",
    "measured elsewhere": "他处实测",
    "if {condition}": "前提：{condition}",
    "accuracy may change: measure it": "精度可能变化，请测量",
    "{count} more without a measured gain (-k 50 lists them)": "另有 {count} 项没有实测收益（-k 50 列出）",
    "{count} more without a measured gain: {names}": "另有 {count} 项没有实测收益：{names}",
    "work, not a setting": "需要开发，不是配置项",
    "{count} more": "另有 {count} 项",
    "Not here: {items}": "此处不适用：{items}",
    "{strategy} ({because})": "{strategy}（{because}）",
    "{setting} is the default of {release}": "{setting} 已是 {release} 的默认值",
    "{conflict} is refused": "会被拒绝：{conflict}",
    "nothing shows that {fact}": "没有迹象表明{fact}",
    "it is set already": "已经设置",
    "framework: {name} does not read settings of {other}": "框架：{name} 不读取 {other} 的设置",
    "metric that decides: {metric}": "目标指标：{metric}",
    "where it applies": "适用条件",
    "prompts share no prefix": "各请求没有公共前缀",
    "prompts share prefixes": "各请求有公共前缀",
    "sequence lengths vary": "序列长度不一",
    "the concurrency is known or tokens are drafted": "并发数已知，或使用投机解码",
    "prefill and decode run on servers of their own: no": "预填充与解码分离部署：否",
    "documented, never measured here: no gain is known": "仅有文档，没有在此实测：收益未知",
    "described in {source}": "见 {source}",
    "It does not fit on {hardware}. The smallest layout that does: {layout}, {count} devices.": (
        "{hardware} 装不下。能装下的最小方案：{layout}，共 {count} 卡。"
    ),
    "It does not fit on {hardware}, nor on any number up to 1,024.": (
        "{hardware} 装不下，1,024 卡以内都装不下。"
    ),
    "In {name} it fits here: {layout} (--precision {precision}). What that loses in accuracy is not known.": (
        "用 {name} 则装得下：{layout}（--precision {precision}）；精度损失未知。"
    ),
    "{low} to {high}": "{low} 至 {high}",
    "{layout} fits with {memory} GB of each device at {batch} sequences an engine": (
        "{layout} 装得下：每卡 {memory} GB，每个引擎 {batch} 条序列"
    ),
    "{layout} fits with {memory} GB of each device at {batch} sequence an engine": (
        "{layout} 装得下：每卡 {memory} GB，每个引擎 {batch} 条序列"
    ),
    "{layout} fits with {memory} GB of each device": "{layout} 装得下：每卡 {memory} GB",
    "{layout} needs {memory} GB of each device": "{layout} 每卡需要 {memory} GB",
    "recipes for such problems agree with this layout by {share}": (
        "此类问题的官方配方（按权重）与此切分的一致度为 {share}"
    ),
    "MODEL is a checkpoint quantised so ({name})": "MODEL 是这样量化的权重（{name}）",
    "what it loses in accuracy is not known here": "其精度损失此处未知",
    "a process for each device: {command}": "每卡一个进程：{command}",
    "server k of {servers}, from 0: the same with {options}, and --headless on all but the first": (
        "第 k 台服务器（共 {servers} 台，从 0 起）：同样的命令加 {options}；除第一台外再加 --headless"
    ),
    "nearest recipe {id}, weight {share}": "最近的配方 {id}，权重 {share}",
    "Together: {gain}.": "合计：{gain}。",
    "{gain} with {places}": "{gain}（第 {places} 项）",
    "All observed bottlenecks together: at most {gain}.": "消除全部已观察到的瓶颈：至多 {gain}。",
    "Not checked: {limit}.": "未检查：{limit}。",
    "Ruled out: {count} ({rules}).": "已排除：{count} 项（{rules}）。",
    "If you time {parts}.": "如果测试{parts}。",
    "only the first: expect {share} above the best": "仅第 1 项：预计比最优慢 {share}",
    "the first {count}: expect {share} above the best": "前 {count} 项：预计比最优慢 {share}",
    "No recommendation: {reason}.": "不作推荐：{reason}。",
    "Measure these next, and ingest them:": "请先测量以下各项并导入：",
    "Why: {command}": "原因：{command}",
    "To test this start: {command}": "测试此起点：{command}",
    "tile model on the facts of the device": "按设备参数建立的分块模型",
    "nothing was measured for it": "没有针对它的实测",
    "{count} tiles in {batch} rounds over {number} cores, {share} of them idle": (
        "{count} 个分块，{number} 个核上 {batch} 轮，{share} 空闲"
    ),
    "work on the cores decides, arithmetic alone takes {share}": "瓶颈是核上计算，仅运算占 {share}",
    "memory traffic decides, arithmetic alone takes {share}": "瓶颈是访存，仅运算占 {share}",
    "write it as triton.Config under @triton.autotune, beside the alternatives": (
        "与备选一起写成 @triton.autotune 下的 triton.Config"
    ),
    "set it in the TCubeTiling of the host's tiling function": "在主机侧 tiling 函数的 TCubeTiling 中设置",
    "{name}={number} instead of {count}": "{name}={number}，原为 {count}",
    "{name} [{id}]": "{name} [{id}]",
    "tile model for one device": "单设备分块模型",
    # one recommendation
    "gain": "收益",
    "rests on": "依据",
    "for": "针对",
    "evidence": "证据",
    "not with": "不可同用",
    "caution": "注意",
    "accuracy": "精度",
    "unknown: nobody has published a time": "未知：没有公开的时间",
    "{gain}, 90 % interval, {chance} chance to help, against {base}": (
        "{gain}，90 % 区间，{chance} 的把握有收益，对比 {base}"
    ),
    "{gain}, 90 % interval, against {base}": "{gain}，90 % 区间，对比 {base}",
    "{bottleneck}, at most {gain}": "{bottleneck}，至多 {gain}",
    "may change: measure it": "可能变化，请测量",
    "unknown: measure it": "未知，请测量",
    "unknown": "未知",
    "avoid if {thing}": "以下情况勿用：{thing}",
    "requires {thing}": "需要 {thing}",
    "the best that is known": "已知最优",
    # metrics
    "throughput": "吞吐量",
    "latency": "时延",
    "energy": "能耗",
    "memory": "内存",
    "carbon": "碳排放",
    "kernel_time": "内核时间",
    "step_time": "步时间",
    "peak_memory": "峰值内存",
    "accuracy_loss": "精度损失",
    "total_throughput": "总吞吐量",
    # similar
    "operator": "算子",
    "model": "模型",
    "shape": "形状",
    "hardware": "硬件",
    "how far": "远近",
    "distance": "距离",
    "copying": "照搬代价",
    "rows": "行数",
    "best": "最优",
    "all: how far {text}": "全部：远近 {text}",
    "other vendor": "其他厂商",
    "same vendor": "同一厂商",
    "same device": "同一设备",
    "same architecture": "同一架构",
    "other": "其他",
    "{number} ({features})": "{number}（{features}）",
    # notes
    "precision: taken as {name}; --precision says another": "精度格式：按 {name}；用 --precision 另行指定",
    "language: taken as {name}, the usual one; --trait language= says another": (
        "语言：按常用的 {name}；用 --trait language= 另行指定"
    ),
    "a model of images has no sequences: {name} is not read": "图像模型没有序列：{name} 不被读取",
    "nothing reads the size {name}": "尺寸 {name} 无人读取",
    "nothing reads the trait {name}": "特征 {name} 无人读取",
    "nothing reads the size {name}; did you mean {other}?": "尺寸 {name} 无人读取；是否指 {other}？",
    "nothing reads the trait {name}; did you mean {other}?": "特征 {name} 无人读取；是否指 {other}？",
    "no program named {name} is known; did you mean {other}?": "没有名为 {name} 的程序；是否指 {other}？",
    "{software} has no setting {name}; did you mean {other}?": "{software} 没有设置 {name}；是否指 {other}？",
    "{software} was not read; the nearest release is {release}": "{software} 未读取；最近的版本是 {release}",
    "{count} requests at once": "并发 {count} 个请求",
    "{count} request at once": "并发 {count} 个请求",
    "{count} requests at once ({each} an engine)": "并发 {count} 个请求（每个引擎 {each} 个）",
    "cards that PCIe alone joins are priced as on a measured server; another was six times slower": (
        "仅由 PCIe 相连的卡按一台实测服务器计价；另一台主机慢六倍"
    ),
    "prompts of {prompt} tokens": "输入 {prompt} 个 token",
    "answers of {answer} tokens": "输出 {answer} 个 token",
    "Assumed": "假定",
    "{last} ({options} say otherwise)": "{last}（用 {options} 另行指定）",
    "{last} ({options} says otherwise)": "{last}（用 {options} 另行指定）",
    "{software} in the place of {other}": "{software}（代替 {other}）",
    "weights in {name}": "权重格式 {name}",
    "weights in {name}, as they are published": "权重格式 {name}（按发布的权重）",
    "{load}, the best that fits": "{load}（能容纳的最佳值）",
    "{count} samples of each device at once": "每卡一次 {count} 个样本",
    "{share} of drafted tokens accepted": "草稿 token 接受率 {share}",
    "sequences of {length} tokens": "序列长度 {length}",
    "{count} devices, the fewest that hold it": "{count} 卡（能装下的最少卡数）",
    "{used} of {count} devices are used: the model does not divide over all of them": (
        "使用 {count} 卡中的 {used} 卡：模型无法均分到全部卡上"
    ),
    "{fact} is told as {value} and wins; the {where} says {other}": (
        "{fact} 以所给的 {value} 为准；{where} 中为 {other}"
    ),
    "{name} is taken as {other}": "{name} 按 {other} 处理",
    "{count} of {name} are taken as {other}, which {server} holds": (
        "{count} 个 {name} 按 {server} 所装的 {other} 处理"
    ),
    "{name} is taken as {other}, on which it is built": "{name} 按其基础模型 {other} 处理",
    "{name} is taken as {other}: no other size of it is known": "{name} 按 {other} 处理：不知道它的其他规模",
    "{name} is taken as {other}: not known is {words}": "{name} 按 {other} 处理：不认识 {words}",
    "{place} says {told} and {where} {other}: {same} is taken": (
        "{place} 为 {told}，{where} 为 {other}：采用 {same}"
    ),
    "no phase given: training is assumed": "未给出阶段：假定为训练",
    "no phase given: serving is assumed": "未给出阶段：假定为推理服务",
    "answers of {answer} token ({task})": "输出 {answer} 个 token（{task}）",
    "answers of {answer} tokens ({task})": "输出 {answer} 个 token（{task}）",
    "prompts of {prompt} tokens ({task})": "输入 {prompt} 个 token（{task}）",
    "recognised as {model} by its sizes": "根据尺寸识别为 {model}",
    "recognised as {model} by its name and sizes": "根据名称和尺寸识别为 {model}",
    "the sizes are not those of {model}: name and sizes are as given": "尺寸与 {model} 不符：按所给计算",
    "no known model has these sizes: advice for one model or family is left out": (
        "没有已知模型具有这些尺寸：略去针对单一模型或系列的建议"
    ),
    "no text model: similarity rests on numbers and names alone": "没有文本模型：相似度仅依据数值和名称",
    "no layout is modelled to keep {limits}; this one comes nearest": (
        "按建模没有方案满足 {limits}；此方案最接近"
    ),
    "{layout} is modelled {times}x as fast, but fewer recipes divide the work so: test both": (
        "{layout} 按建模快 {times} 倍，但采用该划分的配方较少：两者都测一下"
    ),
    "{names} from {place}": "{names} 取自 {place}",
    "the workspace cannot be written to, so explain will not know these ids": (
        "工作区不可写，explain 将不认识这些编号"
    ),
    "no recommendation: {reason}; exit code 3": "不作推荐：{reason}；退出码 3",
    "Making a workspace from the shipped knowledge at {path} ...": "正在用自带知识创建工作区 {path} …",
    "making the text model's ONNX file, once": "正在生成文本模型的 ONNX 文件（仅一次）",
    "reading the shipped knowledge, some five seconds": "正在读取自带知识，约五秒",
    "taking in the shipped cases, some four seconds": "正在录入自带案例，约四秒",
    # errors
    "no {kind} named {name}": "没有名为 {name} 的{kind}",
    "the family of {name} has no model of that size": "{name} 所属系列没有这一规模的模型",
    "it has {names}": "它有 {names}",
    "the sizes of {name} are not known": "不知道 {name} 的尺寸",
    "its config.json tells its sizes: --config-json FILE": "其 config.json 给出尺寸：--config-json FILE",
    "so does a launch script that states them": "写明尺寸的启动脚本也可以",
    "or {rest}": "或{rest}",
    "model family": "模型系列",
    "bottleneck": "瓶颈",
    "bottleneck or cause": "瓶颈或原因",
    "strategy": "策略",
    "parameter": "参数",
    "did you mean {names}?": "是不是指 {names}？",
    "did you mean {names}?; or add your own with: {command}": "是不是指 {names}？或自行添加：{command}",
    "add your own with: {command}": "自行添加：{command}",
    "{name} fits several devices that differ": "{name} 对应多种不同的设备",
    "name one: --hardware {name} (or {names})": "请选择：--hardware {name}（或 {names}）",
    "choose one of: {names}": "请选择：{names}",
    "one of: {names}": "可选：{names}",
    "known: {names}": "已知：{names}",
    "nothing to tune: add --model, --op or a problem file": "没有调优对象：请给出 --model、--op 或问题文件",
    "no hardware: add --hardware, such as --hardware 910B3": (
        "没有硬件：请给出 --hardware，例如 --hardware 910B3"
    ),
    "no recommendation has the id {id}": "没有编号为 {id} 的推荐",
    "interrupted; what was acknowledged is kept": "已中断；已确认的数据都已保留",
    "{path}: no such file or folder": "{path}：没有这个文件或文件夹",
    "{path}: line {line}: unknown key {name}": "{path}：第 {line} 行：未知的键 {name}",
    "{path}: line {line}, at {word}: {reason}": "{path}：第 {line} 行，{word} 处：{reason}",
    "Wrote {path}": "已写入 {path}",
    "wrote {path}": "已写入 {path}",
    "no plot: no change here has a gain with an interval": "没有图：此处没有带区间的收益",
    "Open {path}: it follows what runs": "打开 {path}：它会随运行更新",
}
