// Functions that NVIDIA's Sanitizer API puts before the instructions of a kernel that use memory. Their names and
// parameters are those that the API asks for; make_access_patch.sh compiles them.
#include "recorder/accesses/device_notes.hpp"

namespace {

using streamsan::recorder::DeviceNotes;
using streamsan::recorder::PageUse;
using Word = std::uint32_t;
using Address = std::uint64_t;

/// Of an access, as the API says it.
enum Flag : Word {
    reads = 1,
    writes = 2,
    of_system = 4,  // an atomic operation
    prefetch = 8,
    strong_in_device = 64,
    strong_in_system = 128,
    only_writes = 256,  // an atomic operation
};

constexpr int go_on = 0;
constexpr Word all_lanes = 0xffffffff;

struct Launch {
    DeviceNotes* notes;
    Address number;

    __device__ explicit Launch(void* given)
        : number(reinterpret_cast<Address>(given) & ((Address{1} << DeviceNotes::launch_bits) - 1)) {
        notes = reinterpret_cast<DeviceNotes*>(reinterpret_cast<Address>(given) - number);
    }
};

__device__ Word lane_of_this_thread() {
    Word lane;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    return lane;
}

template <class Value>
__device__ Value now(const Value& place) {
    return *const_cast<const volatile Value*>(&place);
}

/// A record of its own for a key that this thread was the first to meet, plus 1; 0 where there is no room.
__device__ Word take_record(DeviceNotes* notes, DeviceNotes::Entry& entry, Address key) {
    if (now(notes->taken) >= notes->record_count) return 0;
    const Word mine = atomicAdd(&notes->taken, 1U);
    if (mine >= notes->record_count) return 0;
    // After long waiting another thread may have taken one as well: then this one stays empty.
    if (const Word other = atomicCAS(&entry.record, 0U, mine + 1)) return other;
    notes->records[mine].key = key;
    return mine + 1;
}

/// The record of a key, plus 1; 0 where there is no room for one.
__device__ Word record_of(DeviceNotes* notes, Address key) {
    constexpr Word most_tries = 64, most_waits = 2000;
    Word at = static_cast<Word>((key * 0x9E3779B97F4A7C15U) >> 32) & notes->entry_mask;
#pragma unroll 1
    for (Word tries = 0; tries < most_tries; ++tries, at = (at + 1) & notes->entry_mask) {
        DeviceNotes::Entry& entry = notes->entries[at];
        Address found, record;
        asm volatile("ld.volatile.global.v2.u64 {%0, %1}, [%2];" : "=l"(found), "=l"(record) : "l"(&entry) : "memory");
        if (found == key && record != 0) return static_cast<Word>(record);
        if (found == 0) {
            if (now(notes->taken) >= notes->record_count) return 0;
            found = atomicCAS(reinterpret_cast<unsigned long long*>(&entry.key), 0ULL, key);
            if (found == 0) return take_record(notes, entry, key);
        }
        if (found != key) continue;
        // Who was first is about to take a record. Not for ever: it may be a thread of this warp that waits for us.
#pragma unroll 1
        for (Word waits = 0; waits < most_waits; ++waits) {
            if (const Word known = now(entry.record)) return known;
            if (now(notes->taken) >= notes->record_count) return 0;
        }
        return take_record(notes, entry, key);
    }
    return 0;
}

/// Notes that `bits` of one word were used: of the word that `address` lies in, in pages of 1 << `shift` bytes a bit.
__device__ void note(const Launch& launch, Address address, Word shift, PageUse use, Word bits) {
    const Word page_bits = DeviceNotes::bits_log2 + shift;
    const Address key = launch.number << DeviceNotes::launch_shift | address >> page_bits << DeviceNotes::page_shift |
                        (shift == 0 ? DeviceNotes::bytes_bit : 0) | (static_cast<Word>(use) + 1);
    const Word found = record_of(launch.notes, key);
    if (found == 0) {
        if (now(launch.notes->lost) == 0) launch.notes->lost = 1;
        return;
    }
    const Word record = found - 1;
    const Word in_page = static_cast<Word>(address) >> shift >> 5 & (DeviceNotes::words - 1);
    if (record < launch.notes->note_count) {
        Word& word = launch.notes->bits_of_notes[Address{record} * DeviceNotes::words + in_page];
        if ((now(word) & bits) != bits) atomicOr(&word, bits);
    } else if (bits != 0) {
        DeviceNotes::Record& bounds = launch.notes->records[record];
        const Word begin = (in_page * 32 + __ffs(bits) - 1) << shift, end = (in_page * 32 + 32 - __clz(bits)) << shift;
        const Word below_end = (1U << 16) - begin;
        if (now(bounds.below_end) < below_end) atomicMax(&bounds.below_end, below_end);
        if (now(bounds.end) < end) atomicMax(&bounds.end, end);
    }
}

__device__ Word ones(Word count) { return count >= 32 ? all_lanes : (1U << count) - 1; }

/// An access of at most 16 bytes, aligned to its size, by each of the active threads.
__device__ void note_access(void* given, Address address, Word bytes, PageUse use) {
    const Launch launch(given);
    const Word shift = ((static_cast<Word>(address) | bytes) & 3) == 0 ? DeviceNotes::word_shift : 0;
    Word bits = ones(bytes >> shift) << (static_cast<Word>(address) >> shift & 31);
    // Threads that use one word of bits together let their first speak for all.
    const Word active = __activemask();
    const Word group = __match_any_sync(active, (address >> shift >> 5) << 4 | shift << 2 | static_cast<Word>(use));
    const Word size = __popc(group), first = __ffs(group) - 1, lane = lane_of_this_thread();
    const bool neighbours = (size & (size - 1)) == 0 && (first & (size - 1)) == 0 && group >> first == ones(size);
    if (__all_sync(active, neighbours)) {
        for (Word step = 1; step < 32; step <<= 1) {
            const Word other = __shfl_xor_sync(active, bits, step);
            if (step < size) bits |= other;
        }
        if (lane != first) return;
    } else if (active == all_lanes) {
        constexpr int most_groups = 4;
        Word firsts = __ballot_sync(active, lane == first);
        if (__popc(firsts) <= most_groups) {
            Word together = 0;
            for (; firsts != 0; firsts &= firsts - 1) {
                const Word speaker = __ffs(firsts) - 1;
                Word all = first == speaker ? bits : 0;
                for (Word step = 1; step < 32; step <<= 1) all |= __shfl_xor_sync(active, all, step);
                if (lane == speaker) together = all;
            }
            if (lane != first) return;
            bits = together;
        }
    }
    note(launch, address, shift, use, bits);
}

/// A copy of a multiple of 16 bytes that all active threads ask for together.
__device__ void note_copy(void* given, Address address, Word bytes, PageUse use) {
    constexpr Address span = 128;  // what one word of bits stands for
    const Launch launch(given);
    const Word active = __activemask();
    const Word before = __popc(active & ones(lane_of_this_thread()));
    const Address end = address + bytes;
#pragma unroll 1
    for (Address at = (address & ~(span - 1)) + before * span; at < end; at += __popc(active) * span) {
        const Address from = at < address ? address : at, to = at + span < end ? at + span : end;
        const Word bits = ones(static_cast<Word>(to - from) >> 2) << (static_cast<Word>(from) >> 2 & 31);
        note(launch, from, DeviceNotes::word_shift, use, bits);
    }
}

__device__ PageUse use_of(Word flags) {
    constexpr Word ordered = of_system | only_writes | strong_in_device | strong_in_system;
    if ((flags & (reads | writes)) == (reads | writes) || (flags & ordered) != 0) return PageUse::atomic;
    return (flags & writes) != 0 ? PageUse::write : PageUse::read;
}

__device__ constexpr Word bytes_of_blocks(Word mask_and_size) { return (mask_and_size & 0xffff) * 16; }

}  // namespace

// A launch that is not looked at is given null.

/// A kernel that was patched notes that it ran, whatever it touches: in page 0 of bytes.
extern "C" __device__ __noinline__ int streamsan_block_enter(void* given, Address) {
    if (given == nullptr) return go_on;
    if (lane_of_this_thread() == __ffs(__activemask()) - 1) note(Launch(given), 0, 0, PageUse::read, 0);
    return go_on;
}

extern "C" __device__ __noinline__ int streamsan_global(void* given, Address, void* address, Word bytes, Word flags,
                                                        const void*) {
    if (given == nullptr || (flags & prefetch) != 0 || bytes == 0) return go_on;
    note_access(given, reinterpret_cast<Address>(address), bytes, use_of(flags));
    return go_on;
}

extern "C" __device__ __noinline__ int streamsan_async_copy(void* given, Address, void* source, Word, Word bytes) {
    if (given == nullptr || source == nullptr) return go_on;
    note_access(given, reinterpret_cast<Address>(source), bytes, PageUse::read);
    return go_on;
}

/// The same, for versions of the API that tell how many bytes at the end are zeros that nobody reads.
extern "C" __device__ __noinline__ int streamsan_filled_copy(void* given, Address, void* source, Word, Word bytes,
                                                             Word zeros) {
    if (given == nullptr || source == nullptr || zeros >= bytes) return go_on;
    note_access(given, reinterpret_cast<Address>(source), bytes - zeros, PageUse::read);
    return go_on;
}

extern "C" __device__ __noinline__ int streamsan_bulk_load(void* given, Address, Address source, Word, Word,
                                                           Word mask_and_size, Word) {
    if (given != nullptr) note_copy(given, source, bytes_of_blocks(mask_and_size), PageUse::read);
    return go_on;
}

extern "C" __device__ __noinline__ int streamsan_bulk_store(void* given, Address, Address destination, Word,
                                                            Word mask_and_size, Word) {
    if (given != nullptr) note_copy(given, destination, bytes_of_blocks(mask_and_size), PageUse::write);
    return go_on;
}

extern "C" __device__ __noinline__ int streamsan_bulk_reduction(void* given, Address, Address destination, Word,
                                                                Word blocks) {
    if (given != nullptr) note_copy(given, destination, bytes_of_blocks(blocks), PageUse::atomic);
    return go_on;
}

/// Copies of tensors tell a description that only the device understands: that there was one is noted in page 0.
extern "C" __device__ __noinline__ int streamsan_tensor_load(void* given, Address, Address, Word, Word, int, int, int,
                                                             int, int, Word, Word, Word, Word) {
    if (given != nullptr) note(Launch(given), 0, DeviceNotes::word_shift, PageUse::read, 0);
    return go_on;
}

extern "C" __device__ __noinline__ int streamsan_tensor_store(void* given, Address) {
    if (given != nullptr) note(Launch(given), 0, DeviceNotes::word_shift, PageUse::write, 0);
    return go_on;
}
