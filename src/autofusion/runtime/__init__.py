"""Loading and running artifacts; imports numpy alone."""

from autofusion.artifact import TensorInfo
from autofusion.runtime.session import Session, load, open_session

__all__ = ["Session", "TensorInfo", "load", "open_session"]
