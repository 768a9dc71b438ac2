"""The handlers of OpenCL's calls, by their effects: imported for what they register."""

from streamsan.model.opencl import kernel_objects as kernel_objects
from streamsan.model.opencl import lifetimes as lifetimes
from streamsan.model.opencl import mapping as mapping
from streamsan.model.opencl import order as order
from streamsan.model.opencl import transfer_commands as transfer_commands
from streamsan.model.opencl.handling import HANDLERS as HANDLERS
