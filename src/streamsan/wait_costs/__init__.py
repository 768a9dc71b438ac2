"""What waits cost: when a recorded run would have ended without them.

A recording with `--times` knows when each call was made, when it returned, and when the device did the work. The engine
takes these times apart along the order of the trace, and puts them together along the order of an edited one
(`native/order/retiming.hpp`). `measured_run` has the times of one trace, `changes` the edits that are asked about,
`priced_waits` what comes of them.
"""
