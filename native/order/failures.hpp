// Calls that failed, and a program that went on as if they had not (SS601).
#pragma once
#include <cstdint>
#include <vector>

#include "facts.hpp"
#include "flat_map.hpp"
#include "operation.hpp"

namespace streamsan::order {

/// Of a host thread: a call that failed, and whose status nobody is known to have seen.
struct UnseenFailure {
    Operation call;            ///< sequence 0: none
    std::uint64_t object = 0;  ///< what that call was about
    std::int16_t said = 0;     ///< the status that was reported last

    [[nodiscard]] bool matters() const { return call.sequence != 0 || said != 0; }
};

class Failures {
public:
    /// `asking`: the APIs by which a program asks for the error of an earlier call; `setting`: those that are called
    /// for an effect and have no kind of their own.
    Failures(const std::vector<std::uint16_t>& asking, const std::vector<std::uint16_t>& setting, bool recording,
             Facts& facts);

    [[nodiscard]] bool asks(const Operation& operation) const {
        return operation.kind == OperationKind::CALL && asking_.find(operation.api) != none;
    }
    /// For operations that failed, and all others of a thread whose failure matters. `broken`: an error that stays is
    /// returned by every later call of the process.
    void watch(const Slot& slot, const Operation& operation, UnseenFailure& unseen, bool failed, bool broken);

private:
    FlatMap asking_;
    FlatMap setting_;
    bool recording_;
    Facts& facts_;
};

}  // namespace streamsan::order
