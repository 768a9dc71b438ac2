#include "recorder/cuda/not_understood.hpp"

#include "recorder/cuda/abi.hpp"
#include "recorder/cuda/recorder.hpp"

namespace streamsan::recorder::cuda {

void say_not_understood(ThreadState& state, const Call& call, Gap& gap) {
    if (gap.said.load(std::memory_order_relaxed) || gap.said.exchange(true, std::memory_order_relaxed)) return;
    Recorder& all = *recorder();
    const std::uint32_t label = all.writer->string(gap.reason);
    Call about = call;
    about.slot = nullptr;
    about.status = abi::success;
    if (all.settings.sites) {
        about.site = all.sites->here(label);
    } else {
        SiteRecord record;
        record.label = label;
        about.site = all.writer->site(record);
    }
    write_returned(state, about, OperationKind::NOT_UNDERSTOOD, 0, 0, 0);
}

}  // namespace streamsan::recorder::cuda
