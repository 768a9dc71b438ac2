// Protection of host memory and the chain of fault handlers by themselves: `host_driver NAME`. Each checks itself, and
// prints `done`.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string_view>
#include <thread>
#include <vector>

#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "recorder/host/fault_chain.hpp"
#include "recorder/host/protection.hpp"
#include "recorder/tests/check.hpp"

using namespace streamsan::recorder::host;

namespace {

constexpr std::uint64_t page = Protection::page;
Protection& protection = *new Protection;
std::atomic<int> noted{0};
std::atomic<std::uint64_t> last_noted{0};
std::atomic<bool> others_open{false};  ///< a page may have been opened by another thread since the fault

bool on_fault(const siginfo_t& fault, void* context) noexcept {
    const auto address = reinterpret_cast<std::uint64_t>(fault.si_addr);
    const bool writes = (static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & 2) != 0;
    const Met met = protection.accessed(address, writes);
    if (met == Met::use) {
        ++noted;
        last_noted = address;
    }
    return met != Met::nothing || others_open;
}

char* pages(std::size_t count) {
    void* const made = mmap(nullptr, count * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(made != MAP_FAILED);
    return static_cast<char*>(made);
}

std::uint64_t at(const char* address) { return reinterpret_cast<std::uint64_t>(address); }

Use use_of(const char* begin, std::size_t size, bool device_writes) {
    Use use;
    use.begin = at(begin);
    use.end = at(begin) + size;
    use.first_page = use.begin & ~(page - 1);
    use.last_page = (use.end + page - 1) & ~(page - 1);
    use.device_writes = device_writes;
    return use;
}

[[gnu::noinline]] void put(volatile char* where, char value) { *where = value; }
[[gnu::noinline]] char get(const volatile char* where) { return *where; }

void reads_and_writes() {
    char* const p = pages(4);
    CHECK(protection.protect(use_of(p, 4 * page, false)) == Protected::done);
    get(p + 5);
    CHECK(noted == 0);
    put(p + 6, 1);
    CHECK(noted == 1 && last_noted == at(p + 6));
    put(p + 3 * page, 1);
    CHECK(noted == 1);
    CHECK(protection.protect(use_of(p, 4 * page, true)) == Protected::done);
    get(p + page);
    CHECK(noted == 2);
    put(p + page, 1);
    CHECK(noted == 2);
    // Written by one, read by another: the first read, and the first write.
    protection.protect(use_of(p, 4 * page, true));
    protection.protect(use_of(p, 4 * page, false));
    get(p);
    get(p + page);
    CHECK(noted == 3);
    put(p + page, 1);
    CHECK(noted == 4);
}

/// Managed memory: what only the device reads, the host may read as well, and its write is seen behind that.
void keys() {
    constexpr unsigned long deny_access = 1, deny_writes = 2;
    const long closed = kernel_call(SYS_pkey_alloc, 0UL, deny_access);
    const long no_writes = kernel_call(SYS_pkey_alloc, 0UL, deny_writes);
    CHECK(closed > 0 && no_writes > 0);
    protection.use_keys(static_cast<int>(closed), static_cast<int>(no_writes));
    char* const p = pages(2);
    const auto protect = [p](bool device_writes) {
        Use use = use_of(p, 2 * page, device_writes);
        use.means = Means::protection_key;
        CHECK(protection.protect(use) == Protected::done);
    };
    protect(false);
    CHECK(get(p + 5) == 0 && noted == 0);
    put(p + 6, 1);
    CHECK(noted == 1 && last_noted == at(p + 6));
    put(p + page, 1);
    CHECK(noted == 1);
    protect(true);
    CHECK(get(p + 6) == 1 && noted == 2);
    put(p + 7, 1);
    CHECK(noted == 2);
    // A thread that may not even read under that key: its read ends the use.
    protection.use_keys(static_cast<int>(closed), -1);
    protect(false);
    CHECK(get(p + 6) == 1 && noted == 3);
    put(p + 7, 1);
    CHECK(noted == 3);
}

void neighbours() {
    char* const p = pages(3);
    protection.protect(use_of(p + 100, page, true));
    put(p + 99, 1);
    put(p + 100 + page, 1);
    CHECK(noted == 0);
    // Two on one page: what ends the one leaves the other.
    protection.protect(use_of(p + 100, 100, true));
    protection.protect(use_of(p + 300, 100, true));
    put(p + 310, 1);
    CHECK(noted == 1 && last_noted == at(p + 310));
}

void rows_with_gaps() {
    char* const p = pages(16);
    Use use = use_of(p, 15 * page + 100, true);
    use.width = 100;
    use.pitch = page;
    protection.protect(use);
    put(p + 5 * page + 100, 1);
    CHECK(noted == 0);
    put(p + 5 * page, 1);  // its page is open
    CHECK(noted == 0);
    put(p + 7 * page + 99, 1);
    CHECK(noted == 1);
    put(p + 2 * page, 1);  // what lies before the gap is another piece of the same
    CHECK(noted == 2);
}

void system_calls() {
    char* const p = pages(4);
    int ends[2];
    CHECK(pipe(ends) == 0);
    protection.protect(use_of(p, 4 * page, true));
    CHECK(write(ends[1], "abc", 3) == 3);
    std::uint64_t first = 0;
    const int call = protection.begin_call(at(p + 10), at(p + 20));
    CHECK(call >= 0);
    CHECK(protection.given_to_kernel(at(p + 10), at(p + 20), true, first) == Met::use);
    CHECK(first == at(p + 10));
    // Nothing is protected under a call.
    CHECK(protection.protect(use_of(p, 4 * page, true)) == Protected::not_now);
    CHECK(read(ends[0], p + 10, 3) == 3 && p[11] == 'b');
    protection.end_call(call);
    CHECK(protection.protect(use_of(p, 4 * page, false)) == Protected::done);
    CHECK(protection.given_to_kernel(at(p), at(p + 20), false, first) == Met::nothing);
    CHECK(write(ends[1], p + 10, 3) == 3);
}

void bounds() {
    char* const p = pages(3000);
    for (int number = 0; number < 1500; ++number) {
        const Protected came = protection.protect(use_of(p + 2 * number * page, 10, true));
        CHECK(came == Protected::done);
    }
    put(p, 1);  // the oldest gave way
    CHECK(noted == 0);
    put(p + 2 * 1499 * page, 1);
    CHECK(noted == 1);
    protection.release_all();
    std::memset(p, 1, 3000 * page);
    CHECK(noted == 1);
    char* const large = pages(20000);
    CHECK(protection.protect(use_of(large, 20000 * page, true)) == Protected::in_part);
    put(large + 19999 * page, 1);
    CHECK(noted == 1);
    put(large + 16383 * page, 1);
    CHECK(noted == 2);
}

/// A loop that is known is looked at less often, and never not at all.
void known_uses() {
    char* const p = pages(1);
    for (int round = 0; round < 20000; ++round) {
        protection.protect(use_of(p, page, true));
        put(p, 1);
        if (round == 255) CHECK(noted == 256);
    }
    CHECK(noted > 1000 && noted < 3000);
    // Another use of it is new.
    const int before = noted;
    protection.protect(use_of(p, 100, true));
    put(p, 1);
    CHECK(noted == before + 1);
}

void threads() {
    constexpr int count = 4;
    char* const p = pages(64);
    others_open = true;
    std::atomic<bool> over{false};
    std::vector<std::thread> all;
    for (int number = 0; number < count; ++number) {
        all.emplace_back([&, number] {
            while (!over) {
                for (int at_page = 0; at_page < 64; at_page += 3) put(p + at_page * page + number, 1);
            }
        });
    }
    for (int round = 0; round < 3000; ++round) {
        Use use = use_of(p + (round % 40) * page, 20 * page, round % 2 == 0);
        use.site = static_cast<std::uint32_t>(round);
        protection.protect(use);
        if (round % 7 == 0) protection.release(use.begin, use.end);
    }
    over = true;
    for (std::thread& each : all) each.join();
    protection.release_all();
    std::memset(p, 1, 64 * page);
}

void forks() {
    char* const p = pages(4);
    protection.protect(use_of(p, 4 * page, true));
    protection.before_fork();
    const pid_t child = fork();
    if (child == 0) {
        protection.after_fork_in_child();
        put(p, 1);
        _exit(noted == 0 ? 0 : 1);
    }
    protection.after_fork_in_parent();
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    put(p, 1);
    CHECK(noted == 1);
}

/// Memory that is gone, and another mapping in its place.
void gone() {
    char* const p = pages(4);
    protection.protect(use_of(p, 4 * page, true));
    munmap(p, 4 * page);
    protection.release(at(p), at(p) + 4 * page);
    void* const again =
        mmap(p, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    CHECK(again == p);
    put(p, 1);
    CHECK(noted == 0);
}

const std::map<std::string_view, void (*)()> tests = {
    {"reads_and_writes", reads_and_writes},
    {"keys", keys},
    {"neighbours", neighbours},
    {"rows_with_gaps", rows_with_gaps},
    {"system_calls", system_calls},
    {"bounds", bounds},
    {"known_uses", known_uses},
    {"threads", threads},
    {"forks", forks},
    {"gone", gone},
};

}  // namespace

int main(int count, char** arguments) {
    const auto found = tests.find(count > 1 ? arguments[1] : "");
    if (found == tests.end()) {
        for (const auto& [name, test] : tests) std::printf("%s\n", name.data());
        return 2;
    }
    CHECK(begin_fault_chain(on_fault));
    found->second();
    std::puts("done");
    return 0;
}
