"""Graphs: nodes, edges, executable graphs, memory nodes, capture into a graph.

How calls about graphs are passed to `DeviceModel.call`, and how results come back (both domains):

- Handles: `Handle("graph", n)`, `Handle("graph_exec", n)`, `Handle("node", n)`; a conditional handle and a user object
  are `Handle("other", n)`. NULL is 0, a value nobody knows a `Symbol` or None.
- Lists of nodes (`pDependencies`, `dependencies`, `from`, `to`): the argument itself is 1 (0: NULL), the entries are
  `structures["pDependencies"] = {"0": Handle, "1": Handle, ...}`, and the count is its own argument. A count or an
  entry that is missing or unknown means unknown dependencies: the node is ordered after every node so far.
- Parameters of a node: `structures[parameter]` (`pNodeParams`, `nodeParams`, `pCopyParams`, `pMemsetParams`,
  `memsetParams`, `copyParams`, ...), flat, with C field names:
    kernel   func, gridDim.x ... blockDim.z, sharedMemBytes (driver: func, gridDimX ... blockDimZ, sharedMemBytes)
    copy     srcPtr.ptr, srcPtr.pitch, dstPtr.ptr, extent.width, kind, ... (driver: CUDA_MEMCPY3D's fields)
    fill     dst, pitch, value, elementSize, width, height
    host     fn, userData
    alloc    bytesize, poolProps.location.id, ...
    batch memory operations   count, paramArray.0.writeValue.operation, paramArray.0.writeValue.address, ...
  The generic calls (`cudaGraphAddNode`, `NodeSetParams`, `ExecNodeSetParams`) have `type` and the member's name before
  each field: kernel.func, memcpy.copyParams.srcPtr.ptr, memset.dst, host.fn, graph.graph, graph.ownership,
  eventWait.event, eventRecord.event, alloc.bytesize, free.dptr, memOp.count, conditional.handle, conditional.type,
  conditional.size.
- A kernel's arguments go along as `kernel_arguments`, how to compute a kernel or a host function as `payload`, as with
  a launch, both for adding and for setting parameters. When parameters are set with neither (None), the node keeps its
  own arguments and payload (parameters that came from GetParams and went back).
- `cudaThreadExchangeStreamCaptureMode` is given its mode as `structures["mode"] = {"value": 0}`, and gives the old one
  in `outputs["mode"]`.
- Outputs: new handles under their out-parameter. What a structure receives comes as `outputs["nodeParams.dptr"]`
  (generic: `outputs["nodeParams.alloc.dptr"]`), `outputs["nodeParams.conditional.phGraph_out.0"]`,
  `outputs["instantiateParams.result_out"]`, `outputs["resultInfo.result"]`, `outputs["resultInfo.errorNode"]`;
  parameters as `outputs["pNodeParams.bytesize"]` under the names they were given with.
- List outputs: pass 1 for the list (0: only the number is wanted) and for the count. The result has all entries as
  `outputs["nodes.0"]`, `outputs["nodes.1"]`, ... and the whole number as the count's output; `dependencies_out` of
  GetCaptureInfo likewise. Edge data are zeros, and left out. The caller cuts to the program's capacity.
- `cudaGraphExecUpdate` gives `resultInfo` also when it fails (910): the one call that fails and has outputs.
- `graphs.lookup.node_of`, `graph_of` and `exec_of` find the objects behind handles; a `Node` has the payload and the
  kernel arguments that it was made with.
"""
