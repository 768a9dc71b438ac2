/* For programs with a memory pool of their own: what it hands out, and what it takes back.
 *
 * A pool gets memory from CUDA and gives parts of it to its users. CUDA hears of none of that, so nobody who watches CUDA
 * can tell when a part has another owner. A pool that says so is checked as the driver's own are (SS105):
 *
 *     void* Pool::take(size_t bytes) {
 *         void* block = find(bytes);
 *         streamsan_hand_out(block, bytes);
 *         return block;
 *     }
 *     void Pool::give(void* block) {
 *         streamsan_take_back(block);
 *         put(block);
 *     }
 *
 * A pool that has a stream for each block says it, with streamsan_hand_out_on and streamsan_take_back_on. What it is told by its
 * users, that another stream uses a block as well, it passes on with streamsan_record_stream.
 *
 * `streamsan run` hears the calls; else they do nothing, and cost a load and a branch. There is nothing to link but, with a C
 * library older than glibc 2.34, libdl.
 */
#ifndef STREAMSAN_H
#define STREAMSAN_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef void (*streamsan_hand_out_function)(uint64_t address, uint64_t bytes, uint64_t stream);
typedef void (*streamsan_take_back_function)(uint64_t address, uint64_t stream);
typedef void (*streamsan_record_stream_function)(uint64_t address, uint64_t stream);

/* A function of the recorder, NULL while it is not in this process: the driver loads it when CUDA is initialised. */
static inline void* streamsan_find(const char* function) {
    const char* const library = getenv("STREAMSAN_RECORD") == NULL ? NULL : getenv("CUDA_INJECTION64_PATH");
    void* const recorder = library == NULL ? NULL : dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
    void* found = NULL;
    if (recorder != NULL) {
        found = dlsym(recorder, function);
        dlclose(recorder);
    }
    return found;
}

/* 0 until it was looked for, 1 where nobody records. Two threads find the same. */
static inline void* streamsan_known(void** function, const char* name) {
    if (*function == NULL) {
        void* const found = streamsan_find(name);
        if (found != NULL) *function = found;
        else if (getenv("STREAMSAN_RECORD") == NULL) *function = (void*)1;
    }
    return *function == (void*)1 ? NULL : *function;
}

static inline streamsan_hand_out_function streamsan_hand_out_hearer(void) {
    static void* function = NULL;
    return (streamsan_hand_out_function)streamsan_known(&function, "streamsan_pool_hand_out_1");
}

static inline streamsan_take_back_function streamsan_take_back_hearer(void) {
    static void* function = NULL;
    return (streamsan_take_back_function)streamsan_known(&function, "streamsan_pool_take_back_1");
}

static inline streamsan_record_stream_function streamsan_record_stream_hearer(void) {
    static void* function = NULL;
    return (streamsan_record_stream_function)streamsan_known(&function, "streamsan_pool_record_stream_1");
}

/* A stream's number. NULL is the default stream, as this source is compiled. */
static inline uint64_t streamsan_stream(const void* stream) {
#if defined(CUDA_API_PER_THREAD_DEFAULT_STREAM) || defined(__CUDA_API_PER_THREAD_DEFAULT_STREAM)
    return stream == NULL ? 2 : (uint64_t)(uintptr_t)stream;
#else
    return stream == NULL ? 1 : (uint64_t)(uintptr_t)stream;
#endif
}

#define streamsan_address(block) ((uint64_t)(uintptr_t)(const void*)(block))

/* Macros, so that the recorder is called from the pool's own line.
 *
 * The pool gives the `bytes` bytes at `block` to somebody. Its last user may use them no more. Being handed out takes no time and
 * waits for nothing: what counts is that work which uses the bytes from now on is ordered behind the work that used them before.
 * What the bytes hold is not defined: under `streamsan run --poison` they may be overwritten before their first use. A pool that
 * clears its blocks does it after this call. */
#define streamsan_hand_out(block, bytes)          \
    (streamsan_hand_out_hearer() == NULL          \
         ? (void)0                                \
         : streamsan_hand_out_hearer()(streamsan_address(block), (uint64_t)(size_t)(bytes), 0))

/* The same, of a pool that relies on a stream's order: it gives the bytes to the next user of `stream` (a cudaStream_t, a CUstream)
 * without a wait. The report names the stream. It makes no order: users of other streams have to wait. */
#define streamsan_hand_out_on(block, bytes, stream) \
    (streamsan_hand_out_hearer() == NULL            \
         ? (void)0                                  \
         : streamsan_hand_out_hearer()(streamsan_address(block), (uint64_t)(size_t)(bytes), streamsan_stream(stream)))

/* The pool has the block again, the address that it handed out. */
#define streamsan_take_back(block) \
    (streamsan_take_back_hearer() == NULL ? (void)0 : streamsan_take_back_hearer()(streamsan_address(block), 0))

/* The same, where the block comes back in the order of a stream. */
#define streamsan_take_back_on(block, stream) \
    (streamsan_take_back_hearer() == NULL     \
         ? (void)0                            \
         : streamsan_take_back_hearer()(streamsan_address(block), streamsan_stream(stream)))

/* What was issued to `stream` until now uses the block as well, also where nobody can see that it does: through a pointer in device
 * memory, say. The pool may give the bytes to work that is ordered behind it, and to no other. Where a use on that stream is
 * seen, it counts instead. */
#define streamsan_record_stream(block, stream) \
    (streamsan_record_stream_hearer() == NULL  \
         ? (void)0                             \
         : streamsan_record_stream_hearer()(streamsan_address(block), streamsan_stream(stream)))

#ifdef __cplusplus
}
#endif

#endif
