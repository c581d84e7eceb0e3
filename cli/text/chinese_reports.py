"""Chinese for ``explain``, ``diagnose`` and ``doctor``, by their English; see :mod:`cli.text.chinese`."""

REPORTS: dict[str, str] = {
    # explain
    "Why this": "为什么推荐它",
    "Why not the next": "为什么不是下一项",
    "What it rests on": "依据是什么",
    "What would change the answer": "什么会改变答案",
    "What was asked": "问题",
    "Where it looked": "参考了哪些案例",
    "What was left out": "排除了什么",
    "What it sets": "设置内容",
    "The numbers": "数值",
    "{title} [{id}]: number {place} of {count}, expected gain {gain}": (
        "{title} [{id}]：{count} 项中的第 {place} 项，预期收益 {gain}"
    ),
    "it is for {bottleneck}, which was observed{rest}": "针对已观察到的 {bottleneck}{rest}",
    "it addresses no bottleneck you reported; it is ranked by its expected gain": (
        "它不针对您报告的瓶颈，按预期收益排序"
    ),
    "a tile model on the facts of the device expects it to be among the fastest that fit": (
        "按设备参数建立的分块模型认为，它属于可行方案中最快的一批"
    ),
    "similar problems had it among their best, or it is what their parameters say together": (
        "它是相似问题的较优方案，或由其参数综合得出"
    ),
    "its gain is unknown: nothing was measured": "收益未知：没有测量",
    "nobody has published its gain: it is a choice that others made": "没有公开的收益：这是他人的选择",
    "expected {gain} against {base}; {chance} chance that it helps at all": (
        "预期 {gain}，对比 {base}；{chance} 的把握有收益"
    ),
    "expected {gain} against {base}": "预期 {gain}，对比 {base}",
    "accuracy: {effect}, so measure it": "精度：{effect}，请测量",
    "may change": "可能变化",
    "it is the last of the list": "它是最后一项",
    "next is {title} [{id}], expected {gain}": "下一项是 {title} [{id}]，预期 {gain}",
    "same expected gain: the order between the two means nothing": "预期收益相同：两者的先后没有意义",
    "it is expected to gain {share} less, {sure}": "预期收益低 {share}，{sure}",
    "but its interval reaches above this one's expectation": "但其区间上端高于本项的预期",
    "even at its best": "即使在最好情况下",
    "it may gain {share} more, and stands after this one for another reason:": (
        "可能多得 {share}，排在后面另有原因："
    ),
    "it fixes the same bottleneck, so the two do not add up": "它针对同一瓶颈，两者不能叠加",
    "it is for no bottleneck that was observed": "它不针对已观察到的瓶颈",
    "the two exclude each other": "两者互斥",
    "nobody has measured it; this one was": "它没有实测，本项有",
    "no single source: what is expected of its parameters one by one": "没有单一来源：由各参数逐一得出",
    "measured below {gain} here, the next would lead": "如果在此实测低于 {gain}，下一项将领先",
    "a measurement on this very hardware would count for more than all of this": (
        "在本硬件上实测一次，比以上全部依据更有分量"
    ),
    "a measurement on this very hardware would count for more than all of the above": (
        "在本硬件上实测一次，比以上全部依据更有分量"
    ),
    "bottlenecks with their shares (--bottleneck NAME=SHARE) would bound the possible gain": (
        "给出瓶颈及占比（--bottleneck 名称=占比）可以确定收益上限"
    ),
    "your current settings (--current, --from-command) would remove what you do already": (
        "给出当前设置（--current、--from-command）可以去掉已经做到的项"
    ),
    "{count} options are ruled out by: {rules}": "{count} 个选项被以下规则排除：{rules}",
    "unknown: no evidence supports a figure": "未知：没有证据支持任何数字",
    "Every number: {command}": "全部数值：{command}",
    "{kind} (weight {share}): {text}": "{kind}（权重 {share}）：{text}",
    "gain {gain} against {base}; 90 % interval": "收益 {gain}，对比 {base}；90 % 区间",
    "decided by {metric}, {better} is better": "目标 {metric}，{better}更好",
    "lower": "越低",
    "higher": "越高",
    "answered from knowledge {version}": "知识版本 {version}",
    # diagnose
    "rank": "卡",
    "step": "步",
    "compute": "计算",
    "communication exposed": "未掩盖通信",
    "overlapped": "已掩盖",
    "free": "空闲",
    "Nothing costs more than it did before.": "没有比之前更耗时的部分。",
    "Device memory at its peak": "设备内存峰值",
    "allocated by": "分配者",
    "MiB at the peak": "峰值时 MiB",
    "its own most": "自身最大",
    "in the end": "结束时",
    "optimizer": "优化器",
    "forward": "前向",
    "backward": "反向",
    "parameters": "参数",
    "input data": "输入数据",
    "communication and sharding": "通信与切分",
    "before the recording": "记录之前",
    "without a Python stack (backward pass)": "无 Python 栈（反向）",
    "Load of {engine}, {count} samples": "{engine} 的负载，{count} 个采样",
    "prompt tokens/s": "输入 token/s",
    "generated tokens/s": "生成 token/s",
    "requests running": "运行中请求",
    "requests waiting": "等待中请求",
    "KV cache in use, %": "KV 缓存占用 %",
    "prefix cache hits, %": "前缀缓存命中 %",
    "preemptions": "抢占次数",
    "KV blocks run short [kv-block-shortage] in {share} of the samples, and requests wait.": (
        "{share} 的采样中 KV 块不足 [kv-block-shortage]，且有请求等待。"
    ),
    "Requests wait though KV blocks are free.": "有空闲 KV 块，但仍有请求等待。",
    "No request waits.": "没有请求等待。",
    "Where the step goes": "一步的时间去向",
    "What makes the step as long as it is, over the ranks that others waited for": (
        "决定步长的路径（经过被等待的各卡）"
    ),
    "What to measure next": "下一步测量",
    "What the program did while the device had nothing to do, over all steps": (
        "设备空闲时程序所在的函数（各步合计）"
    ),
    "function": "函数",
    "writes a checkpoint": "保存检查点",
    "how": "方法",
    "tells": "可分辨",
    "open": "尚不明确",
    "Where the step goes, mean of ranks and steps": "一步的时间去向（各卡各步平均）",
    "why": "原因",
    "unexplained": "未能解释",
    "gap": "间隙",
    "not in the profile": "性能数据中没有",
    "(-v shows them)": "（-v 显示）",
    "ms before": "之前 ms",
    "now": "现在",
    "changed": "变更",
    "The step grew by {share}, and no known cause shows: the rows above are where.": (
        "步时间增长 {share}，没有显示已知原因：见上表各行。"
    ),
    "exposed, {reason}": "未掩盖，{reason}",
    "cube at work": "Cube 单元工作",
    "vector unit at work": "Vector 单元工作",
    "waits for device memory": "等待设备内存",
    "writes to memory": "写出到内存",
    "writes the cube's results": "写出 Cube 结果",
    "scalar unit": "Scalar 单元",
    "no unit busy": "没有单元繁忙",
    "on the AI CPU": "在 AI CPU 上",
    "rearranges data": "重排数据",
    "converts types": "转换类型",
    "copies": "复制",
    "moves data": "传输数据",
    "waits for peers": "等待其他卡",
    "moves data or waits": "传输或等待",
    "behind launches": "下发之后的间隙",
    "host, no call explains it": "主机侧，无调用可解释",
    "host, calls not collected": "主机侧，未采集调用",
    "copy by the copy engine": "拷贝引擎复制",
    "before or after all kernels": "全部内核之前或之后",
    "garbage collection": "垃圾回收",
    "waits for training data": "等待训练数据",
    "compiles operators": "编译算子",
    "allocates device memory": "申请设备内存",
    "synchronising calls": "同步调用",
    "Nothing that was collected costs {share} of the step and shows a known cause.": (
        "采集到的数据中，没有占步时间 {share} 以上且原因已知的部分。"
    ),
    "cost": "代价",
    "fix test": "修复验证",
    "cost model": "代价模型",
    "chain": "因果链",
    "seen": "现象",
    "perhaps": "可能",
    "try": "建议",
    "case": "案例",
    "cause": "原因",
    "remedy": "处理",
    "source": "来源",
    "{share} of the step ({time} ms), at most {gain}": "占步时间 {share}（{time} ms），至多 {gain}",
    "confidence": "置信度",
    "{chance} that this is the reason": "{chance} 为主因",
    "{gain}, 90 % interval {low} to {high}, modelled": "{gain}，90 % 区间 {low} 至 {high}，建模",
    "replayed without it: {gain}; it eases {symptom} ({before} to {after})": (
        "去掉后重放：{gain}；缓解 {symptom}（{before} 降至 {after}）"
    ),
    "replayed without it: {gain}; it does not ease {symptom} ({before} to {after})": (
        "去掉后重放：{gain}；不能缓解 {symptom}（{before} 至 {after}）"
    ),
    "these kernels took {measured} ms; their shapes need {modelled} ms, modelled": (
        "这些内核用时 {measured} ms；按形状建模需要 {modelled} ms"
    ),
    "Seen besides, at no cost that shows": "另外观察到（代价不明显）",
    "what": "内容",
    "how it shows": "表现",
    "Not collected": "未采集",
    "how to collect it": "采集方法",
    "numbers": "数值",
    "bound": "上限",
    "set": "设置",
    "says": "记录",
    "Against {lack} in {server}": "针对 {server} 的 {lack}",
    "{move}, if {reason}": "{move}，若 {reason}",
    "{setting} lower than {count} (in the log)": "{setting} 低于 {count}（取自日志）",
    "{setting} higher than {count} (in the log)": "{setting} 高于 {count}（取自日志）",
    "{setting} lower than {count} (default of {release})": "{setting} 低于 {count}（{release} 的默认值）",
    "{setting} higher than {count} (default of {release})": "{setting} 高于 {count}（{release} 的默认值）",
    "{setting} lower": "{setting} 调低",
    "{setting} higher": "{setting} 调高",
    "a model with pictures": "模型处理图像",
    "{fault}, known statement of {programs}, line {lines}": "{fault}，{programs} 的已知语句，第 {lines} 行",
    "{part} {count} is too large: at most {number} fits, as the need grows with it": (
        "{part} {count} 过大：需求随其增长，至多 {number}"
    ),
    "{path}: lines of {programs}, none of them an error.": "{path}：{programs} 的日志，没有错误。",
    "All {count} requests that may run at once do [running-limit], and others wait.": (
        "允许同时运行的 {count} 个请求已全部在运行 [running-limit]，其余在等待。"
    ),
    "KV blocks run short [kv-block-shortage]: requests that run are put back.": (
        "KV块不足 [kv-block-shortage]：运行中的请求被退回。"
    ),
    "{fault}, line {lines}": "{fault}，第 {lines} 行",
    "{lines} and {count} more": "{lines} 行及另外 {count} 处",
    # doctor
    "workspace: {path}": "工作区：{path}",
    "about": "项目",
    "finding": "结果",
    "what to do": "处理方法",
    "ok": "正常",
    "fault": "故障",
    "packages": "软件包",
    "text model": "文本模型",
    "workspace": "工作区",
    "all that is needed is installed": "所需软件包齐全",
    "not installed: {names}": "未安装：{names}",
    "{model}, every byte as recorded": "{model}，与记录逐字节一致",
    "not there: similarity rests on numbers and names alone": "缺失：相似度仅依据数值和名称",
    "delete {path}": "删除 {path}",
    "this program ships newer knowledge than the workspace was made with": "程序自带的知识比工作区新",
    "this release refuses: {rule}": "该版本拒绝：{rule}",
    "tunegraph doctor says what to do": "运行 tunegraph doctor 查看处理方法",
    "tunegraph kb rebase renews it and keeps what is yours, or go on with the old knowledge": (
        "运行 tunegraph kb rebase 更新并保留您自己的内容，或继续使用旧知识"
    ),
    "{count} problems have no rows": "{count} 个问题没有数据行",
    "ingest their files again": "重新导入相应文件",
    "{one} and {other} agree": "{one} 与 {other} 一致",
    "{count} vectors, whole": "{count} 个向量，完整",
    "can be read": "可读",
    "all parts end with batch {number}": "各部分都止于第 {number} 批",
    "the rows of {count} of {number} batches are sealed and as acknowledged": (
        "{number} 批中 {count} 批的数据行已封存，与确认时一致"
    ),
    "every checksum agrees": "校验和全部一致",
    "every digest agrees": "摘要全部一致",
    "{model}, every byte as this workspace noted": "{model}，与工作区记录逐字节一致",
    "live graph": "在用图谱",
    "published graph": "已发布图谱",
    "marks": "标记",
    "vector records": "向量记录",
    "saved files": "已存文件",
    "problems": "问题",
    "vectors": "向量",
    "index": "索引",
    "the graph": "图谱",
    "the trial store": "试验库",
    "the vector log": "向量日志",
}
