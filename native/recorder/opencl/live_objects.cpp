#include "recorder/opencl/live_objects.hpp"

#include "recorder/opencl/device_addresses.hpp"
#include "recorder/opencl/mappings.hpp"
#include "recorder/opencl/prepared_launches.hpp"
#include "recorder/opencl/svm.hpp"
#include "recorder/opencl/told_again.hpp"

namespace streamsan::recorder::opencl {

LiveObjects& live() {
    static LiveObjects& all = *new LiveObjects;
    return all;
}

void objects_after_fork() {
    LiveObjects& all = live();
    all.contexts.forget_after_fork();
    all.queues.forget_after_fork();
    all.events.forget_after_fork();
    all.memory.forget_after_fork();
    all.kernels.forget_after_fork();
    all.programs.forget_after_fork();
    all.samplers.forget_after_fork();
    all.command_buffers.forget_after_fork();
    all.semaphores.forget_after_fork();
    mappings_after_fork();
    svm_after_fork();
    device_addresses_after_fork();
    told_after_fork();
    forget_prepared_launches();
}

}  // namespace streamsan::recorder::opencl
