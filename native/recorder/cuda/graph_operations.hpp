// How operations about graphs get into the lane.
#pragma once
#include <cstdint>

#include "generated/vocabulary.hpp"
#include "recorder/cuda/abi.hpp"
#include "recorder/cuda/call.hpp"
#include "recorder/cuda/graph_bodies.hpp"
#include "recorder/trace_writer/writer.hpp"

namespace streamsan::recorder::cuda {

/// As write_returned, for the kinds in which `address` and `size` are no memory.
Slot* write_addressed(ThreadState& state, Call& call, OperationKind kind, Detail detail, std::uint64_t stream,
                      std::uint64_t object, std::uint64_t address, std::uint64_t size);

/// The ALLOC of an allocation node; its memory counts as memory from here on. Nothing for address 0.
void write_graph_memory(ThreadState& state, Call& call, std::uint64_t address, std::uint64_t size);
/// The FREE of a free node, with the call's status. Nothing for address 0.
void write_graph_free(ThreadState& state, Call& call, std::uint64_t address);

/// GRAPH_NODE_UPDATE: node `number` of `exec` does this from now on. `shape`: of a kernel's launch. `since`: the latest
/// operation's number when what it does was given its addresses, where that was before the call; else 0.
void write_node_update(ThreadState& state, Call& call, abi::Word exec, std::uint32_t number, NodeKind kind,
                       std::uint32_t shape, bool conditional, const Reference* references, std::size_t count,
                       std::uint64_t since = 0);

/// The nodes and edges of a body, right after the slot `header` of its GRAPH_INSTANTIATE or GRAPH_UPDATE. Ends early
/// when a new file is begun meanwhile: whatever is restated there has them.
void append_body(Lane& lane, const Slot& header, const Body& body);
/// The same where a rotation asks what is alive: with the sequence and the thread of `header`.
void restate_body(Lane& lane, const Slot& header, const Body& body);

/// Whether a call was refused (801) for another reason than the memory nodes of a graph: then it is a call with a
/// status, no breach of their restrictions (SS306).
bool refused_otherwise(ThreadState& state, const Call& call, abi::Word graph);

/// An operation that stands for code that is not seen.
void write_unseen(ThreadState& state, Call& call);

}  // namespace streamsan::recorder::cuda
