"""The plan: records shared by lowering and the runtime, their sizes and memory. Imports errors and numpy alone."""

from autofusion.plan.kernels import ACTIVATIONS, FLOATING, KERNELS, MAX_OPERANDS, MAX_RESULTS, NORMS, Kernel
from autofusion.plan.records import Buffer, Layout, Limits, Plan, Role, Setting, Size, Step, Tensor
from autofusion.plan.sizes import evaluate_shape, evaluate_size, size_symbols

__all__ = [
    "ACTIVATIONS",
    "FLOATING",
    "KERNELS",
    "MAX_OPERANDS",
    "MAX_RESULTS",
    "NORMS",
    "Buffer",
    "Kernel",
    "Layout",
    "Limits",
    "Plan",
    "Role",
    "Setting",
    "Size",
    "Step",
    "Tensor",
    "evaluate_shape",
    "evaluate_size",
    "size_symbols",
]
