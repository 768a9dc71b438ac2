// The driver's own words on calls that failed.
#pragma once
#include <cstddef>
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
    void add(const Operation& call, const unsigned char* continuations, std::size_t count);
    [[nodiscard]] const std::vector<Explanation>& list() const { return list_; }

private:
    std::vector<Explanation> list_;
};

}  // namespace streamsan::order
