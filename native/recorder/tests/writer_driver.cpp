// Drives the trace writer for tests/recorder/test_trace_writer*.py: `writer_driver MODE FILE ARGUMENT...`. Exit status
// 0: all that the mode itself checks holds. What is in the file is the tests' business.
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "generated/vocabulary.hpp"
#include "recorder/trace_writer/file_format.hpp"
#include "recorder/trace_writer/writer.hpp"

namespace {

using namespace streamsan;
using namespace streamsan::recorder;

const std::string metadata = R"({"platform":"cuda","origin":"synthetic","processes":[1]})";

[[noreturn]] void fail(const std::string& reason) {
    std::fprintf(stderr, "%s\n", reason.c_str());
    std::_Exit(1);
}

void check(bool holds, const char* what) {
    if (!holds) fail(std::string("does not hold: ") + what);
}
#define CHECK(condition) check(condition, #condition)

std::unique_ptr<Writer> opened(const char* path, std::uint64_t most = 0, const std::string& counter = "") {
    std::string error;
    auto writer = Writer::open({path, metadata, most, counter}, error);
    if (!writer) fail(error);
    return writer;
}

/// Appends a call whose `object` is `count`, and completes it. False when recording has stopped.
bool append(Writer& writer, std::uint64_t count, unsigned more = 0) {
    Lane* lane = writer.lane();
    Slot* slot = lane == nullptr ? nullptr : lane->reserve(more);
    if (slot == nullptr) return false;
    slot->kind = static_cast<std::uint8_t>(OperationKind::HANDLE_USE);
    slot->object = count;
    slot->status = status_unknown;
    slot->flags = static_cast<std::uint8_t>(SlotFlag::ENTER);
    for (unsigned index = 1; index <= more; ++index) {
        TextSlot text{};
        text.kind = static_cast<std::uint8_t>(OperationKind::TEXT);
        std::memcpy(static_cast<void*>(slot + index), &text, sizeof text);
    }
    lane->commit();
    Lane::complete(slot, 0, Writer::duration(count));
    return true;
}

void in_threads(unsigned threads, const std::function<void(unsigned)>& work) {
    std::vector<std::thread> crew;
    for (unsigned index = 0; index < threads; ++index) crew.emplace_back(work, index);
    for (auto& thread : crew) thread.join();
}

/// One of everything.
void everything(const char* path, const std::vector<std::uint64_t>&) {
    const auto writer = opened(path);
    CHECK(writer->string("") == 0 && writer->string("a.py") == 1 && writer->string("a.py") == 1);
    const std::uint32_t module = writer->module("/usr/lib/libx.so", "00ff");
    CHECK(module == 1 && writer->module("/usr/lib/libx.so", "00ff") == 1 &&
          writer->module("/usr/lib/libx.so", "") == 2);
    const std::uint32_t outer = writer->site({writer->string("a.py"), writer->string("main"), 0, 0, 7, 3, 0, 0, 0});
    const std::uint32_t inner = writer->site({0, 0, 0, writer->string("scale"), 0, 0, outer, module, 0x1234});
    CHECK(outer == 1 && inner == 2 &&
          writer->site({0, 0, 0, writer->string("scale"), 0, 0, outer, module, 0x1234}) == 2);
    // Ids that are none: 0 instead of a file that nobody can read.
    CHECK(writer->site({999, 0, 0, 0, 1, 0, 999, 999, 5}) == 3);
    const std::uint16_t api = writer->api("cuMemcpyAsync");
    CHECK(api == 1 && writer->api("cuMemcpyAsync") == 1 && writer->api("") == 0);
    Lane* lane = writer->lane();
    CHECK(lane == writer->lane() && lane->thread() == 0);

    Slot* copy = lane->reserve(1);
    copy->kind = static_cast<std::uint8_t>(OperationKind::COPY);
    copy->address = 0x5000;
    copy->size = 16;
    copy->site = inner;
    copy->api = api;
    copy->time = 1;
    ReferencesSlot references{};
    references.kind = static_cast<std::uint8_t>(OperationKind::REFERENCES);
    references.first_address = 0x6000;
    references.count = 1;
    std::memcpy(static_cast<void*>(copy + 1), &references, sizeof references);
    lane->commit();
    // Dropped: leaves nothing, and zeros.
    Slot* dropped = lane->reserve(2);
    std::memset(static_cast<void*>(dropped), 0xff, 3 * sizeof(Slot));
    lane->drop();
    // A wait: entered, its number when it returns, completed.
    Slot* wait = lane->reserve(0);
    CHECK(wait == dropped && wait->kind == 0 && (wait + 1)->sequence == 0);
    wait->kind = static_cast<std::uint8_t>(OperationKind::STREAM_SYNCHRONIZE);
    wait->status = status_unknown;
    wait->flags = static_cast<std::uint8_t>(SlotFlag::ENTER);
    wait->site = 77;
    wait->api = 77;
    lane->commit();
    const std::uint64_t between = writer->next_sequence();
    Slot* same = lane->renumber(wait);
    CHECK(same == wait && wait->sequence > between);
    Lane::complete(same, -3, Writer::duration(5000));
    // A number taken earlier is kept while it fits, and replaced when it does not.
    const std::uint64_t early = writer->next_sequence();
    for (int times = 0; times < 2; ++times) {
        Slot* slot = lane->reserve(0);
        slot->kind = static_cast<std::uint8_t>(OperationKind::CALL);
        slot->sequence = early;
        lane->commit();
        CHECK((slot->sequence == early) == (times == 0));
    }
    // A wait in which other calls were made is told again.
    Slot* outer_wait = lane->reserve(0);
    outer_wait->kind = static_cast<std::uint8_t>(OperationKind::CONTEXT_SYNCHRONIZE);
    outer_wait->flags = static_cast<std::uint8_t>(SlotFlag::ENTER);
    lane->commit();
    append(*writer, 1);
    Slot* again = lane->renumber(outer_wait);
    CHECK(again != outer_wait && outer_wait->kind == static_cast<std::uint8_t>(OperationKind::CALL) &&
          outer_wait->flags == 0);
    Lane::complete(again, 0, 0);
    CHECK(lane->reserve(256) == nullptr && lane->renumber(nullptr) == nullptr);
    Lane::complete(nullptr, 0, 0);
    append(*writer, 2, 255);
    CHECK(Writer::duration(2047) == 2047 && Writer::duration(2048) == (1 << 11 | 1024) &&
          Writer::duration(2049) == (1 << 11 | 1025));
    CHECK(Writer::duration(4095) == (2 << 11 | 1024) && Writer::duration(~std::uint64_t{0}) == 0xffff &&
          Writer::duration(0) == 0);
    CHECK(writer->now() < 60'000'000'000 && writer->generation() == 1 && !writer->stopped());
    writer->close();
    writer->close();
    CHECK(writer->lane() == nullptr && lane->reserve(0) == nullptr && writer->string("late") == 0 && writer->stopped());
}

/// THREADS threads write OPERATIONS each.
void threads(const char* path, const std::vector<std::uint64_t>& numbers) {
    const auto writer = opened(path);
    in_threads(static_cast<unsigned>(numbers[0]), [&](unsigned index) {
        for (std::uint64_t count = 0; count < numbers[1]; ++count) {
            if (count % 64 == 0)
                writer->site({writer->string("f" + std::to_string(count)), index, 0, 0, 1, 1, 0, 0, 0});
            if (!append(*writer, count, count % 16 == 0 ? 3 : 0)) fail("stopped");
        }
    });
    writer->close();
}

/// THREADS threads, one after another.
void one_by_one(const char* path, const std::vector<std::uint64_t>& numbers) {
    const auto writer = opened(path);
    unsigned said = 0;
    writer->on_stop([&](std::string_view reason) {
        std::printf("%.*s\n", static_cast<int>(reason.size()), reason.data());
        ++said;
    });
    for (std::uint64_t index = 0; index < numbers[0]; ++index) std::thread([&] { append(*writer, index); }).join();
    CHECK(said <= 1);
    writer->close();
}

/// THREADS threads write until the process is killed: by the one that first has written OPERATIONS, and MICROSECONDS
/// after its beginning (0: never) at the latest. Says "open" when it is.
void killed(const char* path, const std::vector<std::uint64_t>& numbers) {
    if (numbers[2] != 0)
        std::thread([until = std::chrono::steady_clock::now() + std::chrono::microseconds(numbers[2])] {
            while (std::chrono::steady_clock::now() < until) {
            }
            kill(getpid(), SIGKILL);
        }).detach();
    const auto writer = opened(path);
    check(write(STDOUT_FILENO, "open\n", 5) == 5, "output");
    in_threads(static_cast<unsigned>(numbers[0]), [&](unsigned index) {
        for (std::uint64_t count = 0; count < numbers[1]; ++count) {
            if (count % 256 == 0)
                writer->site({writer->string("f" + std::to_string(count)), index, 0, 0, 1, 1, 0, 0, 0});
            append(*writer, count, count % 16 == 0 ? 3 : 0);
        }
        kill(getpid(), SIGKILL);
    });
}

/// Writes until a file size limit of BYTES stops the recording, with THREADS threads; then goes on with its own life.
/// Prints how many operations each thread could write.
void full(const char* path, const std::vector<std::uint64_t>& numbers) {
    if (numbers[0] != 0) {
        const rlimit limit{numbers[0], numbers[0]};
        CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    }
    std::atomic<unsigned> said{0}, done{0};
    const auto writer = opened(path);
    writer->on_stop([&](std::string_view reason) {
        std::printf("%.*s\n", static_cast<int>(reason.size()), reason.data());
        ++said;
    });
    std::vector<std::uint64_t> written(numbers[1]);
    in_threads(static_cast<unsigned>(numbers[1]), [&](unsigned index) {
        std::uint64_t count = 0;
        while (count < 10'000'000 && append(*writer, count)) ++count;
        written[index] = count;
        for (std::uint64_t count = 0; count < 1000; ++count) CHECK(!append(*writer, count));
        errno = 0;
        ++done;
    });
    CHECK(said == 1 && done == numbers[1] && writer->stopped());
    writer->close();
    CHECK(said == 1);
    for (const std::uint64_t count : written) std::printf("%llu\n", static_cast<unsigned long long>(count));
}

/// Closes while THREADS threads append.
void closed_early(const char* path, const std::vector<std::uint64_t>& numbers) {
    const auto writer = opened(path);
    std::atomic<unsigned> begun{0};
    std::thread closer([&] {
        while (begun < numbers[0]) std::this_thread::yield();
        writer->close();
    });
    in_threads(static_cast<unsigned>(numbers[0]), [&](unsigned) {
        for (std::uint64_t count = 0; append(*writer, count); ++count)
            if (count == 100) ++begun;
    });
    closer.join();
}

/// THREADS threads allocate and free OPERATIONS times under a limit of BYTES; what is alive is restated.
void rotated(const char* path, const std::vector<std::uint64_t>& numbers) {
    struct Alive {
        std::uint64_t sequence;
        std::uint16_t thread;
        std::uint32_t site;
    };
    const auto writer = opened(path, numbers[2]);
    std::mutex lock;
    std::map<std::uint64_t, Alive> alive;
    std::atomic<unsigned> rotations{0};
    writer->on_rotation([&](Lane& restate) {
        const std::lock_guard held(lock);
        ++rotations;
        for (const auto& [address, one] : alive) {
            Slot* slot = restate.reserve(0);
            slot->kind = static_cast<std::uint8_t>(OperationKind::ALLOC);
            slot->address = address;
            slot->sequence = one.sequence;
            slot->thread = one.thread;
            slot->site = one.site;
            restate.commit();
        }
    });
    writer->on_stop([](std::string_view reason) { fail(std::string(reason)); });
    const std::uint16_t api = writer->api("cuMemAlloc");
    in_threads(static_cast<unsigned>(numbers[0]), [&](unsigned index) {
        std::uint64_t next = std::uint64_t{index + 1} << 32;
        std::vector<std::uint64_t> own;
        Slot* waiting = nullptr;
        for (std::uint64_t count = 0; count < numbers[1]; ++count) {
            Lane* lane = writer->lane();
            const bool free = own.size() > 20 || (count % 3 == 2 && !own.empty());
            Slot* slot = lane->reserve(0);
            if (slot == nullptr) fail("stopped");
            slot->api = api;
            if (free) {
                const std::size_t victim = count * 7 % own.size();
                slot->kind = static_cast<std::uint8_t>(OperationKind::FREE);
                slot->address = own[victim];
                own.erase(own.begin() + static_cast<std::ptrdiff_t>(victim));
                const std::lock_guard held(lock);
                alive.erase(slot->address);
            } else {
                slot->kind = static_cast<std::uint8_t>(OperationKind::ALLOC);
                slot->address = next += 4096;
                slot->site = writer->site({writer->string("f" + std::to_string(count % 50)), 0, 0, 0, 1, 1, 0, 0, 0});
                own.push_back(slot->address);
                const std::lock_guard held(lock);
                alive[slot->address] = {slot->sequence, slot->thread, slot->site};
            }
            lane->commit();
            // A wait that lasts over many operations of the others, and now and then over several files.
            if (count % 1024 == 0) {
                waiting = lane->reserve(0);
                waiting->kind = static_cast<std::uint8_t>(OperationKind::CONTEXT_SYNCHRONIZE);
                waiting->object = count;
                waiting->flags = static_cast<std::uint8_t>(SlotFlag::ENTER);
                lane->commit();
                const bool is_long = index == 0 && count % 8192 == 0;
                for (unsigned before = rotations, tries = 0; is_long && rotations < before + 3 && tries < 20'000;
                     ++tries)
                    std::this_thread::yield();
                waiting = lane->renumber(waiting);
                CHECK(waiting->object == count &&
                      waiting->kind == static_cast<std::uint8_t>(OperationKind::CONTEXT_SYNCHRONIZE));
                Lane::complete(waiting, 0, 1);
            }
        }
    });
    std::printf("%u %zu\n", rotations.load(), alive.size());
    writer->close();
}

/// Forks while THREADS threads append and intern. Every second child begins a file of its own and writes OPERATIONS to
/// it, and one in each of THREADS threads; the others do nothing. One child more comes by vfork.
void forked(const char* path, const std::vector<std::uint64_t>& numbers) {
    const auto writer = opened(path);
    std::atomic<bool> enough{false};
    std::vector<std::thread> crew;
    append(*writer, 0);
    for (unsigned index = 0; index < numbers[0]; ++index)
        crew.emplace_back([&] {
            for (std::uint64_t count = 0; !enough; ++count) {
                writer->string("f" + std::to_string(count % 2000));
                append(*writer, count);
            }
        });
    for (int child = 0; child < 20; ++child) {
        const std::uint64_t generation = writer->generation();
        const pid_t pid = fork();
        if (pid == 0) {
            // Nothing of the parent's is written to, no lock of it waited for.
            CHECK(!append(*writer, 1) && writer->string("child") == 0 && writer->stopped() && writer->api("x") == 0);
            writer->on_stop([](std::string_view) { fail("said in a child"); });
            if (child % 2 == 1) {
                writer->close();
                std::_Exit(0);
            }
            const std::string own = std::string(path) + "." + std::to_string(child);
            std::string error;
            if (!writer->reopen_after_fork({own, metadata, 0, ""}, error)) fail(error);
            CHECK(writer->generation() != generation && writer->string("child") == 1);
            in_threads(static_cast<unsigned>(numbers[1]), [&](unsigned) { CHECK(append(*writer, 0)); });
            for (std::uint64_t count = 0; count < numbers[2]; ++count) CHECK(append(*writer, count));
            writer->close();
            std::_Exit(0);
        }
        int status = 0;
        CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
        CHECK(writer->generation() == generation && append(*writer, static_cast<std::uint64_t>(child) + 1));
    }
    enough = true;
    for (auto& thread : crew) thread.join();
    // A child that shares the memory runs nothing of ours and must not stop us.
    const pid_t pid = vfork();
    if (pid == 0) _exit(0);
    int status = 0;
    CHECK(waitpid(pid, &status, 0) == pid && append(*writer, 21));
    writer->close();
}

/// Writes OPERATIONS numbered by the counter file FILE.counter, while the program closes descriptors it does not own.
void counted(const char* path, const std::vector<std::uint64_t>& numbers) {
    const auto writer = opened(path, 0, std::string(path).substr(0, std::string(path).rfind('/')) + "/counter");
    for (int descriptor = 3; descriptor < 64; ++descriptor) close(descriptor);
    std::FILE* own = std::fopen((std::string(path) + ".own").c_str(), "w");
    for (std::uint64_t count = 0; count < numbers[0]; ++count) CHECK(append(*writer, count));
    writer->close();
    // The file that got the recorder's descriptor is the program's alone.
    CHECK(std::fputs("mine", own) >= 0 && std::fclose(own) == 0);
}

/// A thread whose last calls come from destructors that run after those of the recorder's own thread-locals.
void late_calls(const char* path, const std::vector<std::uint64_t>&) {
    static std::unique_ptr<Writer> writer;
    struct Late {
        ~Late() { CHECK(append(*writer, 2)); }
    };
    writer = opened(path);
    for (int index = 0; index < 3; ++index)
        std::thread([] {
            static thread_local Late late;
            static_cast<void>(&late);
            CHECK(append(*writer, 1));
        }).join();
    writer->close();
    writer.reset();
}

/// OPERATIONS segments that the file has by now.
unsigned segments_in(const char* path) {
    unsigned found = 0;
    std::FILE* const file = std::fopen(path, "rb");
    CHECK(file != nullptr);
    FileHeader head{};
    CHECK(std::fread(&head, sizeof head, 1, file) == 1);
    SegmentHeader segment{};
    for (auto at = static_cast<long>(head.header_size);;) {
        if (std::fseek(file, at, SEEK_SET) != 0 || std::fread(&segment, sizeof segment, 1, file) != 1 ||
            segment.type == 0)
            break;
        found += segment.type == static_cast<std::uint16_t>(SegmentType::operations) ? 1 : 0;
        at += static_cast<long>(sizeof segment + segment.capacity);
    }
    std::fclose(file);
    return found;
}

/// With half of its segment used, a lane's next one comes without its doing. Arguments: operations then, whether to
/// close.
void ahead(const char* path, const std::vector<std::uint64_t>& arguments) {
    auto writer = opened(path);
    constexpr std::uint64_t more_than_half = 600;
    for (std::uint64_t count = 0; count < more_than_half; ++count) CHECK(append(*writer, count));
    while (segments_in(path) < 2) std::this_thread::yield();
    for (std::uint64_t count = 0; count < arguments.at(0); ++count) CHECK(append(*writer, more_than_half + count));
    if (arguments.at(1) == 0) std::_Exit(0);
    writer->close();
}

}  // namespace

int main(int count, char** arguments) {
    const std::map<std::string, void (*)(const char*, const std::vector<std::uint64_t>&)> modes{
        {"everything", everything}, {"threads", threads}, {"one_by_one", one_by_one},
        {"killed", killed},         {"full", full},       {"closed_early", closed_early},
        {"rotated", rotated},       {"forked", forked},   {"counted", counted},
        {"late_calls", late_calls}, {"ahead", ahead}};
    const auto mode = count < 3 ? modes.end() : modes.find(arguments[1]);
    if (mode == modes.end()) return 2;
    std::vector<std::uint64_t> numbers;
    for (int index = 3; index < count; ++index) numbers.push_back(std::strtoull(arguments[index], nullptr, 10));
    mode->second(arguments[2], numbers);
    return 0;
}
