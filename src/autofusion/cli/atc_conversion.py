"""The settings of `atc` as options of the compiler."""

from __future__ import annotations

from autofusion.cli.atc_settings import Conversion
from autofusion.cli.environment import disabled_fusions
from autofusion.compiler import Compilation
from autofusion.diagnostics import Diagnostic
from autofusion.errors import UsageError
from autofusion.fusion import Controls
from autofusion.ir import DType
from autofusion.options import CompileOptions


def make_options(settings: Conversion) -> CompileOptions:
    """What to compile with; GE_FUSION_DISABLE_LIST adds to the fusions that are turned off."""
    disabled = dict.fromkeys(disabled_fusions(), "GE_FUSION_DISABLE_LIST")
    disabled |= dict.fromkeys(settings.disabled, "--optimization_switch")
    controls = Controls(auto_fusion=settings.fusion, disabled=disabled)
    return CompileOptions(controls=controls, shapes=settings.shapes)


def check_output_types(compilation: Compilation) -> None:
    """Raise UsageError AF210 unless every output is float32, which is what --output_type=FP32 asks for."""
    for name in compilation.graph.outputs:
        dtype = compilation.graph.value(name).dtype
        if dtype is not DType.FLOAT:
            spelled = dtype.value if dtype else "of unknown type"
            message = f"--output_type=FP32 is not supported: output {name!r} is {spelled}, and outputs keep their type"
            raise UsageError(Diagnostic("AF210", message, help="leave the option out, or add a Cast to the model"))
