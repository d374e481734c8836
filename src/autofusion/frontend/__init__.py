"""From an ONNX file to the graph, and from a graph to an ONNX file."""

from autofusion.frontend.change import change_model
from autofusion.frontend.cut import cut_outputs
from autofusion.frontend.model import Model
from autofusion.frontend.reader import read_model
from autofusion.frontend.writer import write_graph

__all__ = ["Model", "change_model", "cut_outputs", "read_model", "write_graph"]
