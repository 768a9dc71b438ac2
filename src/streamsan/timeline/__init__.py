"""What a run looks like: lanes, operations on them, memory as bars, and the edges that order them.

`timeline_of` reads a trace once and gives a `Timeline`: columns of numbers and a few short tables, which reports draw
and exports write. `scenes` cuts out of it what one finding is about (`findings.scene.Scene`), with the order that the
engine knows there. Nothing here decides anything: what is wrong the findings say.
"""

from streamsan.timeline.timeline import Timeline as Timeline
from streamsan.timeline.timeline import timeline_of as timeline_of
