#include "tool.hpp"

namespace fake {

namespace {

bool enabled(abi::Domain domain, std::uint32_t id) {
    const Tool* tool = fake_tool();
    return tool->callback != nullptr && id < most_ids && tool->enabled[static_cast<int>(domain)][id];
}

}  // namespace

SeenCall::SeenCall(abi::Domain domain, std::uint32_t id, const char* name, const void* parameters, const char* symbol)
    : domain_(domain), id_(id) {
    call_.function_name = name;
    call_.parameters = parameters;
    call_.symbol =
        symbol != nullptr ? symbol : reinterpret_cast<const char*>(std::uintptr_t{0x11});  // garbage, as measured
    call_.correlation_data = &correlation_data_;
    call_.correlation = fake_next_correlation();
    outermost_ = enabled(domain, id) && *fake_work_correlation() == 0;
    if (outermost_) *fake_work_correlation() = call_.correlation;
    fire(abi::CallbackSite::enter, nullptr);
}

SeenCall::~SeenCall() {
    if (outermost_) *fake_work_correlation() = 0;
}

void SeenCall::returned(Status status) { fire(abi::CallbackSite::exit, &status); }

void SeenCall::fire(abi::CallbackSite site, const Status* status) {
    if (!enabled(domain_, id_)) return;
    call_.site = site;
    call_.returned = status;
    call_.context = fake_current_context();
    call_.context_uid = call_.context != 0 ? 1 : 0;
    fake_tool()->callback(fake_tool()->data, domain_, id_, &call_);
}

void fire_resource(abi::Resource resource, const abi::ResourceData* data) {
    const auto id = static_cast<std::uint32_t>(resource);
    if (enabled(abi::Domain::resource, id)) fake_tool()->callback(fake_tool()->data, abi::Domain::resource, id, data);
}

}  // namespace fake
