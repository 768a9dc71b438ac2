// Kernels that may begin before the kernel before them on the stream has ended (programmatic dependent launch).
#include "engine.hpp"

namespace streamsan::order {

void Engine::begin_at_once(Process& process, Thread& thread, Stream& stream, LastKernel before, const Placed& work) {
    Timeline& own = timeline(stream);
    const Timeline& host = timeline(thread);
    if (stream.early == none) stream.early = timelines_.make(&own);
    Timeline& early = timeline(stream.early);
    if (stream.early != Timelines::last) early.beside = own.slot;
    if (stream.early == Timelines::last || stream.timeline == Timelines::last) {
        // Timelines ran out, and streams share the last one: what is known of it is not known of one stream.
        early.clock.join(own.clock, contract_edge);
    } else if (before == LastKernel::ordinary) {
        // It may begin when the kernel before it does: it knows what that one knew, and what the host knows that issues
        // it.
        Clock known;
        if (edges_.has(EdgeKind::kernel_start)) {
            known.assign(own.clock);
            const Tick from = stream.kernel_from;
            known.set(own.slot, Lanes{from, from, from, from});
        }
        early.clock.assign(known);
    } else if (!edges_.has(EdgeKind::kernel_start)) {
        early.clock.clear();
    }
    // Behind a kernel that began at once itself the clock is that one's still: neither knows of the other.
    early.clock.join(host.clock, edges_.in(EdgeKind::issue, contract_edge));
    if (early.tick < last_tick) ++early.tick;
    const Placed placed{work.operation, {early.slot, early.tick}};
    for (const Reference& reference : references_) {
        if (!reference.behind) use(process, thread, &stream, early, reference, placed, false);
    }
    own.learn(placed.epoch, edges_.in(EdgeKind::early_to_stream, contract_edge));
    stream.last_kernel = LastKernel::at_once;
}

}  // namespace streamsan::order
