#include "failures.hpp"

namespace streamsan::order {
namespace {

/// Answers, and attempts that a program makes to see whether they succeed.
bool probing(std::int16_t status) { return status::answers(status) || status::of_capture(status); }

/// Calls whose effect a later operation would miss. The failure of any other is an answer.
bool has_effect(OperationKind kind) {
    using enum OperationKind;
    static constexpr Kinds for_effect = {ALLOC,
                                         FREE,
                                         LAUNCH,
                                         COPY,
                                         MEMSET,
                                         HOST_FUNCTION,
                                         GRAPH_LAUNCH,
                                         EVENT_RECORD,
                                         EVENT_CREATE,
                                         STREAM_CREATE,
                                         HANDLE_CREATE,
                                         STREAM_SYNCHRONIZE,
                                         GRAPH_UPDATE,
                                         PEER_ENABLE,
                                         PREFETCH,
                                         CONTEXT_CREATE,
                                         CONTEXT_CURRENT,
                                         EVENT_SYNCHRONIZE,
                                         CAPTURE_END,
                                         STREAM_MEMORY_OP,
                                         GRAPH_NODE_UPDATE,
                                         GRAPH_INSTANTIATE,
                                         STREAM_WAIT_EVENT,
                                         CONTEXT_SYNCHRONIZE};
    return for_effect.has(kind);
}

/// Work that shows that the program goes on. To free and to destroy is how failures are handled.
bool goes_on(OperationKind kind) {
    using enum OperationKind;
    static constexpr Kinds work = {LAUNCH, COPY, MEMSET, GRAPH_LAUNCH, HOST_FUNCTION, CAPTURE_BEGIN};
    return work.has(kind);
}

}  // namespace

Failures::Failures(const std::vector<std::uint16_t>& asking, const std::vector<std::uint16_t>& setting, bool recording,
                   Facts& facts)
    : recording_(recording), facts_(facts) {
    for (const std::uint16_t api : asking) asking_.set(api, 0);
    for (const std::uint16_t api : setting) setting_.set(api, 0);
}

void Failures::watch(const Slot& slot, const Operation& operation, UnseenFailure& unseen, bool failed, bool broken) {
    if (operation.kind == OperationKind::CALL && slot.detail == static_cast<std::uint8_t>(CallClass::UNREAD)) {
        // Whoever wrote the trace has seen all of the program: nobody looks at the status, whatever it is.
        Fact fact(RuleCode::UNCHECKED_FAILURE, FactVariant::UNCHECKED, operation);
        fact.assumed = operation.assumed();
        facts_.add(fact);
        unseen.call = {};
        unseen.said = slot.status;
        return;
    }
    if (unseen.call.sequence != 0) {
        const bool asked = asks(operation);
        // An update that is refused is how programs learn that a graph has to be instantiated anew: it counts only if
        // the old executable graph is launched all the same.
        const bool refused = unseen.call.status == status::update_refused;
        const bool replaced =
            refused && (operation.kind == OperationKind::GRAPH_INSTANTIATE ||
                        (operation.kind == OperationKind::HANDLE_DESTROY && slot.object == unseen.object));
        const bool retries = unseen.call.kind == OperationKind::ALLOC;  // with less
        // In a recording nobody sees that the program asks. But one that gives memory back, or gets some now, has
        // noticed.
        const bool handled = recording_ && retries && !failed &&
                             (operation.kind == OperationKind::FREE || operation.kind == OperationKind::ALLOC);
        const bool elsewhere =
            refused && !(operation.kind == OperationKind::GRAPH_LAUNCH && slot.object == unseen.object);
        if (asked || replaced || handled) {
            unseen.call = {};
            unseen.said = 0;
        } else if (!elsewhere && (goes_on(operation.kind) || (operation.kind == OperationKind::ALLOC && !retries))) {
            Fact fact(RuleCode::UNCHECKED_FAILURE, FactVariant::UNCHECKED, unseen.call);
            fact.with(RelatedRole::USE, operation);
            fact.assumed = unseen.call.assumed() || operation.assumed();
            facts_.add(fact);
            unseen.said = unseen.call.status;
            unseen.call = {};
        }
    }
    const bool registers =
        operation.kind == OperationKind::ALLOC && slot.detail == static_cast<std::uint8_t>(MemoryKind::REGISTERED);
    const bool tried = recording_ && registers;  // whether memory can be registered is found out so
    const bool effect = (has_effect(operation.kind) && !tried) ||
                        (operation.kind == OperationKind::CALL && setting_.find(slot.api) != none);
    // What nobody asks for is returned again, and a failure brings others with it: it is said once.
    if (recording_ && !failed && effect) unseen.said = 0;
    if (broken) return;
    if (failed && unseen.call.sequence == 0 && effect && !probing(slot.status) && slot.status != unseen.said) {
        unseen.call = operation;
        unseen.object = slot.object;
    }
}

}  // namespace streamsan::order
