# Qwen3-32B served by vllm-ascend on four devices.
export HCCL_OP_EXPANSION_MODE=AIV
vllm serve Qwen/Qwen3-32B --tensor-parallel-size 4 --max-model-len 8192 --max-num-seqs 64 \
    --gpu-memory-utilization 0.9
