"""Build hook: compiles the C kernel library into the package.  Run by hand, it does so in the checkout."""

from __future__ import annotations

import importlib.util
import os
import sys
import sysconfig
from pathlib import Path
from types import ModuleType
from typing import Any

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ModuleNotFoundError:
    # Run by hand, where nothing but a compiler is needed.
    BuildHookInterface = object


def load_build_module() -> ModuleType:
    """The module `autofusion.runtime.build`, by its file: the package's dependencies are not there yet."""
    path = Path(__file__).parent / "src" / "autofusion" / "runtime" / "build.py"
    spec = importlib.util.spec_from_file_location("autofusion_build", path)
    if spec is None or spec.loader is None:
        raise RuntimeError(f"cannot load {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


class NativeBuildHook(BuildHookInterface):
    """Puts the library into wheels and, for an editable install, into the source tree."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """A compiler as a package, where the system has none."""
        build = load_build_module()
        if not build.list_variants() or build.find_system_compiler(os.environ.get("CC", "")):
            return []
        return ["ziglang"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and mark the wheel as one for this platform but any Python 3."""
        build = load_build_module()
        if self.target_name != "wheel" or not build.list_variants():
            return
        build.build_libraries(build.find_compiler(os.environ.get("CC", "")))
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["infer_tag"] = False
        build_data["tag"] = f"py3-none-{platform}"


def main() -> int:
    """Build the library in the checkout and name its files."""
    build = load_build_module()
    try:
        paths = build.build_libraries(build.find_compiler(os.environ.get("CC", "")))
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 1
    for path in paths:
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
