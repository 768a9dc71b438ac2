// Other processors than x86-64: every stack by the language runtime's unwinder.
#include <unwind.h>

#include <unordered_map>

#include "recorder/sites/modules.hpp"
#include "recorder/sites/native_stack.hpp"

namespace streamsan::recorder::call_sites {

struct NativeStack::Parts {
    explicit Parts(StackMemo& stack_memo) : memo(stack_memo) {}

    StackMemo& memo;
    std::unordered_map<std::uint64_t, bool> of_the_api;
    std::uint64_t removals = 0;

    bool hidden(std::uint64_t address) {
        const auto known = of_the_api.find(address);
        if (known != of_the_api.end()) return known->second;
        Modules& modules = Modules::instance();
        if (const std::uint64_t now = modules.removals(); now != removals || of_the_api.size() > 65536) {
            removals = now;
            of_the_api.clear();
            memo.clear();
        }
        const Module* module = modules.find(address - 1);
        return of_the_api[address] = module != nullptr && module->of_the_api;
    }
};

NativeStack::NativeStack(StackMemo& memo) : parts_(new Parts(memo)) {}
NativeStack::~NativeStack() = default;

std::uint64_t NativeStack::unloadings() const noexcept { return parts_->removals; }

unsigned NativeStack::callers(const StackStart&, std::uint64_t* addresses, unsigned limit, StackEnd& end) noexcept {
    // What the runtime's unwinder depends on is not known.
    parts_->memo.begin();
    parts_->memo.give_up();
    struct Walk {
        Parts* parts;
        std::uint64_t* addresses;
        unsigned limit;
        unsigned count = 0;
    } walk{parts_.get(), addresses, limit, 0};
    const _Unwind_Reason_Code result = _Unwind_Backtrace(
        [](_Unwind_Context* context, void* argument) {
            auto& state = *static_cast<Walk*>(argument);
            int before = 0;
            const std::uint64_t address = _Unwind_GetIPInfo(context, &before);
            if (address == 0) return _URC_END_OF_STACK;
            const std::uint64_t pc = address + (before != 0 ? 1 : 0);
            if (!state.parts->hidden(pc)) {
                if (state.count == state.limit) return _URC_NORMAL_STOP;
                state.addresses[state.count++] = pc;
            }
            return _URC_NO_REASON;
        },
        &walk);
    end = walk.count == limit ? StackEnd::limit : result == _URC_END_OF_STACK ? StackEnd::bottom : StackEnd::lost;
    return walk.count;
}

unsigned NativeStack::callers_in_copy(const StackStart&, std::uint64_t, const void*, std::size_t, std::uint64_t*,
                                      unsigned, StackEnd& end) noexcept {
    end = StackEnd::lost;
    return 0;
}

}  // namespace streamsan::recorder::call_sites
