#include "explanations.hpp"

#include <algorithm>
#include <cstring>

namespace streamsan::order {

void Explanations::add(const Operation& call, const unsigned char* continuations, std::size_t count) {
    constexpr std::size_t most_explanations = 4096;
    constexpr std::size_t longest = 4096;
    if (call.status == 0 || call.status == status_unknown || list_.size() >= most_explanations) return;
    const auto same = [&call](const Explanation& each) {
        return each.call.site == call.site && each.call.api == call.api && each.call.status == call.status;
    };
    if (std::any_of(list_.begin(), list_.end(), same)) return;
    Explanation explanation{call, {}};
    for (std::size_t i = 0; i < count && explanation.text.size() < longest; ++i) {
        TextSlot text;
        std::memcpy(&text, continuations + i * sizeof(Slot), sizeof text);
        if (text.kind != static_cast<std::uint8_t>(OperationKind::TEXT)) continue;
        explanation.text.append(text.text, std::min<std::size_t>(text.length, sizeof text.text));
    }
    if (!explanation.text.empty()) list_.push_back(std::move(explanation));
}

}  // namespace streamsan::order
