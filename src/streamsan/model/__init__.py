"""The device model: the API's transitions over symbolic handles and allocations. The one semantics of the API."""
