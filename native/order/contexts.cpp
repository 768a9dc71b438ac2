#include "contexts.hpp"

namespace streamsan::order {

std::uint32_t Contexts::make(Process& process, std::uint64_t handle, ContextKind kind, bool assumed,
                             const Operation& made) {
    const std::uint32_t index = size();
    list_.push_back(std::make_unique<Context>());
    Context& context = *list_.back();
    context.handle = handle;
    context.kind = kind;
    context.assumed = assumed;
    context.made = made;
    context.process = process.number;
    process.contexts.set(handle, index);
    if (process.default_context == none) process.default_context = index;
    return index;
}

std::uint32_t Contexts::named(Process& process, std::uint64_t handle) {
    const std::uint32_t index = process.contexts.find(handle);
    if (index != none) return index;
    const std::uint32_t unnamed = process.contexts.find(0);
    if (unnamed == none || unnamed != process.default_context)
        return make(process, handle, ContextKind::PRIMARY, true, Operation{});
    // The context that threads were using before anybody named one: this is its name.
    process.contexts.erase(0);
    process.contexts.set(handle, unnamed);
    list_[unnamed]->handle = handle;
    return unnamed;
}

std::uint32_t Contexts::current(Thread& thread, Process& process) {
    if (thread.context == none) {
        // Nobody said which context is current: it is the first one that the process is known to have.
        if (process.default_context == none) make(process, 0, ContextKind::PRIMARY, true, Operation{});
        thread.context = process.default_context;
    }
    return thread.context;
}

void Contexts::create(Process& process, std::uint64_t handle, ContextKind kind, const Operation& operation) {
    const std::uint32_t old = process.contexts.find(handle);
    const bool primary = kind == ContextKind::PRIMARY;
    if (old == none ? !primary : list_[old]->dead || list_[old]->closed || !(primary || list_[old]->assumed)) {
        make(process, handle, kind, operation.assumed(), operation);
        return;
    }
    // A primary context that is retained, or one that was used before it was named.
    Context& context = *list_[named(process, handle)];
    context.kind = kind;
    context.assumed = operation.assumed();
    if (old == none) context.made = operation;
}

bool Contexts::admit(std::uint32_t index, const Operation& operation) {
    const Context& context = *list_[index];
    if (!context.dead && !context.closed) return true;
    Fact fact(RuleCode::STALE_HANDLE, FactVariant::STALE_CONTEXT, operation);
    fact.with(RelatedRole::CREATE, context.made).with(RelatedRole::DESTROY, context.ended);
    fact.assumed = operation.assumed();
    facts_.add(fact);
    return false;
}

}  // namespace streamsan::order
