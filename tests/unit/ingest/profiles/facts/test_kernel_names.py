"""Names of GPU kernels say their operator, and of products their type."""

import csv

import pytest

from data import text
from ingest.profiles.facts.kernel_names import FILE, SHORT, gpu_kernel, short_name

NATIVE = "void at::native::vectorized_elementwise_kernel<4, at::native::"
KERNELS = [
    ("volta_sgemm_128x64_nt", "Gemm", "FLOAT"),
    ("volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_nn", "Gemm", "FLOAT16"),
    ("turing_fp16_s1688gemm_fp16_128x128_ldg8_f2f_tn", "Gemm", "FLOAT16"),
    ("ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x3_tn", "Gemm", "BF16"),
    ("void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x64_16x6_tn_align4>(Params)", "Gemm", "TF32"),
    ("sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x128x16", "Conv2D", "TF32"),
    ("cudnn_infer_volta_scudnn_128x64_relu_xregs_large_nn_v1", "Conv2D", "FLOAT"),
    ("Cijk_Alik_Bljk_SB_Bias_AS_SAV_UserArgs_MT64x16x32", "Gemm", "FLOAT"),
    ("Cijk_Ailk_Bljk_HHS_BH_Bias_MT128x128x32", "Gemm", "FLOAT16"),
    ("Cijk_Ailk_Bljk_BBS_BH_MT256x256x64", "Gemm", "BF16"),
    ("nvjet_tst_256x128_64x4_1x2_h_bz_coopA_NTT", "Gemm", "BF16"),
    ("nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT", "Gemm", "BF16"),
    ("nvjet_sm100_hsh_128x160_64x5_2x4_h_bz_NTT", "Gemm", "FLOAT16"),
    ("nvjet_sm90_sss_128x160_64x5_2x4_h_bz_NTT", "Gemm", "TF32"),
    ("cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_knob_26", "FlashAttention", ""),
    ("void cudnn::ops::nchwToNhwcKernel<float, float>(x)", "LayoutTransform", ""),
    ("void flash_fwd_kernel<Flash_fwd_kernel_traits<128, 64>>(Params)", "FlashAttention", ""),
    ("void fbgemm_gpu::permute_2D_lengths_kernel<int>(int, int)", "permute_2D_lengths_kernel", ""),
    (f"{NATIVE}CUDAFunctor_add<float>>(int)", "Add", ""),
    (f"{NATIVE}(anonymous namespace)::launch_clamp_scalar(x)>(int)", "Relu", ""),
    ("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, MeanOps<float>>>(x)", "ReduceMean", ""),
    ("void softmax_warp_forward<float, float, float, 10, false>(x)", "Softmax", ""),
    ("void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor<float>>(x)", "MultiTensorAdam", ""),
    ("void at::native::unrolled_elementwise_kernel<direct_copy_kernel_cuda(x), LoadWithCast<1>>(x)", "Cast", ""),
    ("void at::native::batch_norm_backward_reduce_kernel<float>(x)", "BatchNormGrad", ""),
    ("void at::native::(anonymous namespace)::compute_grad_weight<float>(x)", "EmbeddingGrad", ""),
    ("void flash::device<flash::FlashAttnFwdSm90<Mainloop>>(Params)", "FlashAttention", ""),
    ("void vllm::rotary_embedding_kernel<c10::BFloat16, true>(long const*)", "RotaryEmbedding", ""),
    ("void kDequantizeBlockwise<half, 512>(float*)", "DequantizeWeights", ""),
    ("void dequantize_mul_mat_vec<32>(x)", "dequantize_mul_mat_vec", ""),
    ("triton_poi_fused_add_relu_3", "triton_poi_fused_add_relu", ""),
]  # fmt: skip


def test_a_pattern_with_a_comma_is_not_cut_off() -> None:
    assert all(len(row) == 3 for row in csv.reader(text(FILE).splitlines()))


@pytest.mark.parametrize(("name", "kind", "types"), KERNELS)
def test_a_name_tells_operator_and_type(name: str, kind: str, types: str) -> None:
    assert gpu_kernel(name) == (kind, types)


def test_an_unknown_kernel_keeps_its_own_name() -> None:
    assert short_name("void my::lib::(anonymous namespace)::odd<int, A<2> >(float*, int)") == "odd"
    assert len(short_name("x" * 500)) == SHORT
    assert short_name("") == ""
    assert short_name("<<<") == "<<<"
