"""One engine with one model in a process of its own, driven line by line through its standard streams.

usage: worker.py ENGINE MODEL FEEDS.npz THREADS

ENGINE is autofusion (MODEL is an artifact), onnxruntime, onnxruntime_plain (its optimizations off) or openvino.
The first line of output is JSON: seconds from after `import numpy` to the first result, and `version`.  Then each line
of input, a number of runs, is answered by the list of their seconds.  At the end of input the last line gives the peak
of the process's memory in bytes.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np


def open_engine(engine: str, path: str, feeds: dict[str, np.ndarray], threads: int) -> tuple[Callable[[], object], str]:
    """A function that runs the model once, and the engine's version."""
    if engine == "autofusion":
        import autofusion

        session = autofusion.load(path, threads=threads)
        return lambda: session.run(feeds), autofusion.__version__
    if engine.startswith("onnxruntime"):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        if engine == "onnxruntime_plain":
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        inference = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        return lambda: inference.run(None, feeds), onnxruntime.__version__
    import openvino

    hints = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
    request = openvino.Core().compile_model(path, "CPU", hints).create_infer_request()
    return lambda: request.infer(feeds), openvino.__version__.split("-")[0]


def read_peak() -> int:
    """VmHWM of this process in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    line = next(line for line in lines if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


def main(engine: str, path: str, feeds_path: str, threads: str) -> None:
    """Open, run once, then answer requests."""
    feeds = dict(np.load(feeds_path))
    start = time.perf_counter()
    run, version = open_engine(engine, path, feeds, int(threads))
    run()
    print(json.dumps({"first": time.perf_counter() - start, "version": version}), flush=True)
    for line in sys.stdin:
        seconds = []
        for _ in range(int(line)):
            start = time.perf_counter()
            run()
            seconds.append(time.perf_counter() - start)
        print(json.dumps(seconds), flush=True)
    print(read_peak(), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
