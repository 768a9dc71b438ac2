// Uses against the free of the same allocation, and what a required order rests on.
#include "engine.hpp"

namespace streamsan::order {

RuleCode free_code(FreeClass family) {
    switch (family) {
        case FreeClass::UNMAP:
        case FreeClass::CL_UNMAP:
        case FreeClass::IPC_CLOSE: return RuleCode::UNMAPPED_IN_USE;
        case FreeClass::PINNED:
        case FreeClass::UNREGISTER:
        case FreeClass::HOST_HEAP:
        case FreeClass::HOST_SCOPE: return RuleCode::HOST_BUFFER_IN_FLIGHT;
        default: return RuleCode::USE_RACES_FREE;
    }
}

FactVariant free_variant(FreeClass family) {
    switch (family) {
        case FreeClass::ASYNC: return FactVariant::FREE_ASYNC;
        case FreeClass::PINNED: return FactVariant::FREE_PINNED;
        case FreeClass::UNREGISTER: return FactVariant::FREE_UNREGISTER;
        case FreeClass::UNMAP:
        case FreeClass::CL_UNMAP: return FactVariant::UNMAP;
        case FreeClass::CL_SVM: return FactVariant::FREE_SVM;
        case FreeClass::IPC_CLOSE: return FactVariant::IPC_CLOSE;
        case FreeClass::HOST_HEAP: return FactVariant::HOST_FREE;
        case FreeClass::HOST_SCOPE: return FactVariant::HOST_SCOPE_END;
        default: return FactVariant::FREE_DEVICE;
    }
}

Verdict Engine::verdict(const Clock& clock, Epoch earlier) {
    const Lanes known = clock.at(earlier.slot);
    if (known[contract] >= earlier.tick) return Verdict::contract;
    if (known[visible] >= earlier.tick) return Verdict::run;
    if (known[credited] >= earlier.tick) return Verdict::unseen;
    return known[all] >= earlier.tick ? Verdict::observed : Verdict::unordered;
}

bool Engine::equal_streams(const Stream* left, std::uint32_t right_name) const {
    const StreamName& right = names_[right_name];
    // In a recording handles are what they were: streams whose creation nobody saw are different all the same.
    if (recording_ || left == nullptr || right_name == 0 || left->handle == right.handle) return false;
    const auto is_default = [](StreamKind kind) {
        return kind == StreamKind::LEGACY || kind == StreamKind::PER_THREAD;
    };
    if (left->apart != 0 && left->apart == right.apart) return false;
    return (left->assumed && right.assumed) || (left->of_anyone() && is_default(right.kind)) ||
           (right.of_anyone() && is_default(left->kind));
}

bool Engine::may_be_behind(const Process& process, const Stream* stream, const Operation& use) const {
    if (recording_) return false;
    if (equal_streams(stream, use.stream_name)) return true;
    const StreamName& name = names_[use.stream_name];
    // A stream of an unknown caller may be the legacy default stream: work on it, and a wait for it, covers the
    // blocking streams.
    if (!name.of_anyone() && name.kind != StreamKind::NON_BLOCKING && use.stream_name != 0) {
        const bool blocking = stream != nullptr && stream->kind != StreamKind::NON_BLOCKING;
        if ((blocking ? process.unknown_work : process.unknown_awaited) > use.sequence) return true;
        const auto later = [&use](const AmbiguousWait& wait) {
            return wait.assumed && wait.apart == 0 && wait.sequence > use.sequence;
        };
        if (later(process.ambiguous) || later(process.other_ambiguous)) return true;
    }
    if (!name.assumed && name.kind != StreamKind::LEGACY && name.kind != StreamKind::PER_THREAD) return false;
    const AmbiguousWait& wait = process.ambiguous.handle != name.handle ? process.ambiguous : process.other_ambiguous;
    if (name.apart != 0 && wait.apart == name.apart) return false;
    // A default stream is none that the program made.
    const bool may_be_one = name.of_anyone() || (wait.assumed && (name.assumed || wait.apart == 0));
    return wait.handle != 0 && wait.sequence > use.sequence && may_be_one;
}

void Engine::add_doubts(Fact& fact, const Process& process, Verdict order, const Stream* stream,
                        const Operation& earlier) const {
    fact.unseen = order == Verdict::unseen;
    fact.assumed |=
        fact.unseen || (stream != nullptr && stream->of_anyone()) || names_[earlier.stream_name].of_anyone();
    fact.may_be_equal = may_be_behind(process, stream, earlier);
    if (order == Verdict::observed) fact.rests_on = EdgeClass::OBSERVED;
}

FactVariant Engine::name_wait(Fact& fact, Epoch earlier, const Clock& later) const {
    const Operation* const wait = implicit_waits_.between(earlier, later);
    if (wait == nullptr) return FactVariant::NONE;
    const bool query = wait->kind == OperationKind::EVENT_QUERY;
    const FactVariant variant = query ? FactVariant::STATUS_QUERY : FactVariant::IMPLICIT_COPY;
    for (std::uint8_t i = 0; i < fact.related_count; ++i) {
        if (fact.related[i].role == RelatedRole::SYNC) return variant;  // of several uses the first says enough
    }
    fact.with(RelatedRole::SYNC, *wait);
    return variant;
}

bool Engine::judge_order(Process& process, Allocation& allocation, FreeClass family, const Clock& at,
                         const Stream* stream, const Operation& operation) {
    bool promised = true;
    graphs_.each_pending(process, allocation,
                         [&](const Placed& use, const Part&) { promised = promised && at.knows(use.epoch, contract); });
    if (promised) return true;
    const bool caller_decides =
        allocation.marks.assumed || operation.assumed() || (stream != nullptr && stream->assumed);
    const bool waits_itself = relied_on(family) && streamsan::waits(family, allocation.kind);
    const bool by_device = family != FreeClass::HOST_HEAP && family != FreeClass::HOST_SCOPE;
    // Of the uses that are not ordered, those that certainly are not speak first.
    struct Found {
        Fact fact;
        bool any = false;
        bool assumed = true;
    };
    Fact blank(free_code(family), free_variant(family), operation, allocation);
    Found certain{blank};
    Found doubtful{blank};
    Found observed{blank};
    Found stray_observed{blank};
    Found unseen{blank};
    graphs_.each_pending(process, allocation, [&](const Placed& use, const Part& part) {
        const Verdict order = verdict(at, use.epoch);
        if (order == Verdict::contract) return;
        require(Unmet::Sort::use_free, use.operation.sequence, operation.sequence);
        // Code that was given the memory may have done anything with it: nothing is known of its uses.
        if (order == Verdict::run || (order == Verdict::unseen && allocation.marks.escaped)) return;
        const bool equal = may_be_behind(process, stream, use.operation);
        const bool stray = recording_ && use.operation.assumed();  // no use for sure: the others speak without it
        Found& found = order == Verdict::unseen     ? unseen
                       : order == Verdict::observed ? (stray ? stray_observed : observed)
                       : equal || stray             ? doubtful
                                                    : certain;
        if (!found.any) found.fact.touches[1] = touch_of({use.operation, part});
        found.any = true;
        found.fact.with(RelatedRole::USE, use.operation);
        const FactVariant wait =
            order == Verdict::observed && !waits_itself ? name_wait(found.fact, use.epoch, at) : FactVariant::NONE;
        if (wait != FactVariant::NONE && by_device) found.fact.variant = wait;
        found.fact.may_be_equal |= equal;
        found.assumed &= caller_decides || use.operation.assumed() || names_[use.operation.stream_name].of_anyone();
    });
    if (certain.any || doubtful.any) {
        Found& found = certain.any ? certain : doubtful;
        found.fact.assumed = found.assumed;
        allocation.marks.use_reported =
            !(recording_ && found.assumed);  // a use that may not have happened hides no other
        report(found.fact);
        return false;
    }
    if (observed.any || stray_observed.any) {
        Found& found = observed.any ? observed : stray_observed;
        found.fact.code = RuleCode::RELIES_ON_IMPLICIT_SYNC;
        found.fact.rests_on = EdgeClass::OBSERVED;
        found.fact.assumed = found.assumed;
        report(found.fact);
        return false;
    }
    if (unseen.any) {
        unseen.fact.assumed = unseen.fact.unseen = true;
        report(unseen.fact);
        return false;
    }
    return true;
}

}  // namespace streamsan::order
