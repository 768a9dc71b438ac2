// The driver's own words on calls that failed.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "operation.hpp"

namespace streamsan::order {

struct Explanation {
    Operation call;
    std::string text;
};

/// One for each site, call and status.
class Explanations {
public:
    /// The words about a thread's latest call, in the TEXT slots among its `count` continuations.
    void add(const Operation& call, const unsigned char* continuations, std::size_t count) {
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
    [[nodiscard]] const std::vector<Explanation>& list() const { return list_; }

private:
    std::vector<Explanation> list_;
};

}  // namespace streamsan::order
