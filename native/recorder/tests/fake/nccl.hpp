// Functions of NCCL, in the shape of its header, of a stand-in that a test can tell how to behave.
#pragma once
#include <cstddef>

#include "runtime.hpp"

using ncclResult_t = int;
enum ncclDataType_t { ncclInt8 = 0, ncclFloat32 = 7, ncclFloat64 = 8 };

namespace fake_nccl {

extern int version;      ///< of what it tells a plugin
extern bool tells_late;  ///< on a thread of the driver, as where the network needs the host
extern bool is_silent;   ///< as where a version tells nothing while a captured collective is alive
struct Communicator;

}  // namespace fake_nccl

using ncclComm_t = fake_nccl::Communicator*;

ncclComm_t make_communicator(int ranks, int rank);
void ncclCommDestroy(ncclComm_t communicator);
void ncclGroupStart();
ncclResult_t ncclGroupEnd();
ncclResult_t ncclAllReduce(const void* from, void* to, std::size_t count, ncclDataType_t type, ncclComm_t communicator,
                           cudaStream_t stream);
ncclResult_t ncclReduce(const void* from, void* to, std::size_t count, ncclDataType_t type, int root,
                        ncclComm_t communicator, cudaStream_t stream);
ncclResult_t ncclBroadcast(const void* from, void* to, std::size_t count, ncclDataType_t type, int root,
                           ncclComm_t communicator, cudaStream_t stream);
ncclResult_t ncclAllGather(const void* from, void* to, std::size_t count, ncclDataType_t type, ncclComm_t communicator,
                           cudaStream_t stream);
ncclResult_t ncclReduceScatter(const void* from, void* to, std::size_t count, ncclDataType_t type,
                               ncclComm_t communicator, cudaStream_t stream);
ncclResult_t ncclSend(const void* from, std::size_t count, ncclDataType_t type, int peer, ncclComm_t communicator,
                      cudaStream_t stream);
ncclResult_t ncclRecv(void* to, std::size_t count, ncclDataType_t type, int peer, ncclComm_t communicator,
                      cudaStream_t stream);
