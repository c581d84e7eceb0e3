# LLaMA-2-7B pretraining on one server of eight devices, as a launch script of MindSpeed-LLM has it.
torchrun --nproc_per_node 8 pretrain_gpt.py \
    --tensor-model-parallel-size 4 --pipeline-model-parallel-size 2 \
    --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --ffn-hidden-size 11008 \
    --swiglu --normalization RMSNorm --position-embedding-type rope \
    --seq-length 4096 --micro-batch-size 1 --global-batch-size 32 --bf16
