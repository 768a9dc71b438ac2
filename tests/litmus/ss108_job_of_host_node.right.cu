// The host waits for the launch before it fills the job for the next one.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                               \
    do {                                                                                          \
        const cudaError_t status_ = (call);                                                       \
        if (status_ != cudaSuccess) {                                                             \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status_)); \
            std::exit(EXIT_FAILURE);                                                              \
        }                                                                                         \
    } while (0)

struct Job {
    int number;
    double total;
};

static void account(void *data)
{
    Job *job = static_cast<Job *>(data);
    job->total += job->number;
}

class Accounting {
public:
    Accounting()
    {
        CHECK(cudaStreamCreate(&stream_));
        CHECK(cudaMallocHost(&job_, sizeof(Job)));
        job_->number = 0;
        job_->total = 0.0;
        cudaGraph_t graph;
        CHECK(cudaGraphCreate(&graph, 0));
        cudaHostNodeParams params = {};
        params.fn = account;
        params.userData = job_;
        cudaGraphNode_t node;
        CHECK(cudaGraphAddHostNode(&node, graph, nullptr, 0, &params));
        CHECK(cudaGraphInstantiate(&exec_, graph, 0));
        CHECK(cudaGraphDestroy(graph));
    }
    ~Accounting()
    {
        cudaStreamSynchronize(stream_);
        cudaGraphExecDestroy(exec_);
        cudaFreeHost(job_);
        cudaStreamDestroy(stream_);
    }

    void post(int number)
    {
        CHECK(cudaStreamSynchronize(stream_));
        job_->number = number;
        CHECK(cudaGraphLaunch(exec_, stream_));
    }

private:
    cudaStream_t stream_;
    cudaGraphExec_t exec_;
    Job *job_;
};

int main()
{
    Accounting accounting;
    for (int number = 1; number < 5; ++number) accounting.post(number);
    return 0;
}
