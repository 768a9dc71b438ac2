#include "recorder/cuda/cupti.hpp"

#include <array>
#include <string_view>

#include "recorder/cuda/callback_source.hpp"

namespace streamsan::recorder::cuda {
namespace {

Cupti subscribed;
abi::Subscriber subscriber = nullptr;

/// Those that dispatch reads, or hands on.
constexpr std::array resources{
    abi::Resource::context_created,        abi::Resource::context_destroy_starting, abi::Resource::init_finished,
    abi::Resource::graph_created,          abi::Resource::graph_destroy_starting,   abi::Resource::graph_cloned,
    abi::Resource::graph_node_created,     abi::Resource::graph_node_cloned,        abi::Resource::module_loaded,
    abi::Resource::module_unload_starting,
};

void enable(abi::Domain domain, std::uint32_t id, bool wanted) {
    // An id that this CUPTI does not know yet is an error without consequences.
    subscribed.enable_callback(wanted ? 1 : 0, subscriber, domain, id);
}

void enable_resources() {
    for (const abi::Resource resource : resources)
        enable(abi::Domain::resource, static_cast<std::uint32_t>(resource), true);
}

std::string why_not(const Cupti& cupti, abi::CuptiStatus status, std::string_view other) {
    if (status == abi::cupti_multiple_subscribers || status == abi::cupti_max_limit_reached) {
        std::string tool = "another tool";
        if (!other.empty()) tool += " (" + std::string(other) + ")";
        return tool + " uses CUPTI in this process already: only one can (a profiler, or compute-sanitizer)";
    }
    return cupti_refusal(cupti, status);
}

}  // namespace

std::string cupti_refusal(const Cupti& cupti, abi::CuptiStatus status) {
    if (status == abi::cupti_insufficient_privileges) return "CUPTI says that this user may not use it";
    const char* text = nullptr;
    if (cupti.result_string != nullptr) cupti.result_string(status, &text);
    return "CUPTI refuses: " + std::string(text != nullptr ? text : "error") + " (" + std::to_string(status) + ")";
}

std::string subscribe(const Cupti& cupti, abi::CallbackFunction callback) {
    std::array<char, 2 * abi::least_old_name> other{};
    abi::CuptiStatus status = abi::cupti_success;
    const auto taken = [&status] {
        return status == abi::cupti_multiple_subscribers || status == abi::cupti_max_limit_reached;
    };
    if (cupti.subscribe_v2 != nullptr) {
        abi::SubscriberParameters alone{sizeof alone, "streamsan", other.data(), other.size()};
        status = cupti.subscribe_v2(&subscriber, callback, nullptr, &alone);
        if (taken()) {
            // One that lets others in. Not asked at first: where several are allowed, CUPTI refuses a part of its
            // older functions, which the program's own profiler may use. Older versions refuse the structure.
            abi::SharedSubscriberParameters shared{alone, 1, {}};
            shared.first.size = sizeof shared;
            if (cupti.subscribe_v2(&subscriber, callback, nullptr, &shared.first) == abi::cupti_success)
                status = abi::cupti_success;
        }
    }
    if (cupti.subscribe_v2 == nullptr || (status != abi::cupti_success && !taken())) {
        status = cupti.subscribe(&subscriber, callback, nullptr);
    }
    if (status != abi::cupti_success) return why_not(cupti, status, std::string_view(other.data()));
    subscribed = cupti;
    set_callback_source({enable, enable_resources});
    return "";
}

}  // namespace streamsan::recorder::cuda
