"""A layer of a network with the statistics that say how it bears low precision."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

STATISTICS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "loss_increase": ("accuracy_loss", "accuracy_drop", "delta_loss", "perplexity_increase"),
        "hessian_trace": ("trace", "mean_hessian_trace", "hessian"),
        "fisher": ("fisher_information", "mean_squared_gradient", "grad_squared"),
        "gradient_norm": ("grad_norm", "gradient", "grad", "norm"),
        "weight_error": ("quantization_error", "quantisation_error", "perturbation"),
        "output_error": ("error", "mse", "relative_error", "nmse"),
        "sqnr_db": ("sqnr", "snr", "snr_db"),
        "cosine": ("cosine_similarity", "cos", "cos_sim"),
        "parameters": ("params", "numel", "size", "elements", "weight_count"),
    }
)
"""Statistics and other names for them; :class:`Layer` defines each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One layer with its statistics.

    Attributes:
        name: As the file has it.
        values: By statistic; what is not there was not collected. ``loss_increase``: rise of the loss, or
            fall of the accuracy as a share, with this layer alone in low precision. ``hessian_trace``: mean
            of the diagonal of the loss's Hessian over its weights. ``fisher``: mean squared gradient of its
            weights. ``gradient_norm``: Euclidean norm of its gradient. ``weight_error``: squared Euclidean
            norm of what low precision changes in its weights. ``output_error``: mean squared error of its
            output, relative to its power. ``sqnr_db``: signal over that noise in decibels. ``cosine``:
            similarity of the outputs. ``parameters``: number of weights.
    """

    name: str
    values: Mapping[str, float] = field(default_factory=dict)
