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

/// The Sanitizer API tells the same number when the kernel is launched. The kernels of an executable graph have numbers
/// of their own, the same at each of its launches (measured with driver 580).
__device__ Word number_of_grid() {
    Address number;
    asm("mov.u64 %0, %%gridid;" : "=l"(number));
    return static_cast<Word>(number);
}

/// What a launch is given, taken apart.
struct Launch {
    Address head;
    Word number;
    Word entries_log2;

    __device__ explicit Launch(void* given)
        : head(DeviceNotes::head_of(reinterpret_cast<Address>(given))),
          number(DeviceNotes::launch_of(reinterpret_cast<Address>(given))),
          entries_log2(DeviceNotes::entries_log2_of(reinterpret_cast<Address>(given))) {
        if (DeviceNotes::by_grid(reinterpret_cast<Address>(given)))
            number = number + number_of_grid() & (1U << DeviceNotes::launch_bits) - 1;
    }
    __device__ DeviceNotes* notes() const { return reinterpret_cast<DeviceNotes*>(head); }
    __device__ DeviceNotes::Entry* entries() const {
        return reinterpret_cast<DeviceNotes::Entry*>(DeviceNotes::entries_of(head));
    }
    __device__ Word* bits_of_notes() const {
        return reinterpret_cast<Word*>(DeviceNotes::bits_of_notes(head, entries_log2));
    }
    /// Where the entry of a key is looked for first. The page varies, and the number of the launch.
    __device__ Word place_of(Address key) const {
        const Word low = static_cast<Word>(key), high = static_cast<Word>(key >> 32);
        return (low * 0x9E3779B1U ^ high * 0x85EBCA6BU) >> (32 - entries_log2);
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

__device__ Word ones(Word count) { return count >= 32 ? all_lanes : (1U << count) - 1; }

/// Of which size the units are that an access is noted in: 1 << this.
__device__ Word shift_of(Address address, Word bytes) {
    return ((static_cast<Word>(address) | bytes) & 3) == 0 ? DeviceNotes::word_shift : 0;
}

__device__ Address key_of(Word launch, Address address, Word bytes, PageUse use) {
    const Word shift = shift_of(address, bytes);
    return Address{launch} << DeviceNotes::launch_shift |
           address >> (DeviceNotes::bits_log2 + shift) << DeviceNotes::page_shift |
           (shift == 0 ? DeviceNotes::bytes_bit : 0) | (static_cast<Word>(use) + 1);
}

/// What the multiprocessor's cache holds may be older than what others have noted: then a thread does again what was
/// done already. It is never newer, and what is in it never becomes wrong while notes are taken.
__device__ void load_entry(const DeviceNotes::Entry* entry, Address& key, Address& record) {
    asm volatile("ld.global.ca.v2.u64 {%0, %1}, [%2];" : "=l"(key), "=l"(record) : "l"(entry));
}

/// A value that is in memory. Each register beyond about a dozen costs a store and a load at every access, needed or
/// not: so what the first access to a page takes is kept here.
template <class Value>
class InMemory {
public:
    __device__ InMemory() {}
    __device__ operator Value() const {
        Value found;
        if constexpr (sizeof(Value) == 8)
            asm volatile("ld.local.u64 %0, [%1];" : "=l"(found) : "l"(place()) : "memory");
        else asm volatile("ld.local.u32 %0, [%1];" : "=r"(found) : "l"(place()) : "memory");
        return found;
    }
    __device__ void operator=(Value value) {
        if constexpr (sizeof(Value) == 8)
            asm volatile("st.local.u64 [%0], %1;" : : "l"(place()), "l"(value) : "memory");
        else asm volatile("st.local.u32 [%0], %1;" : : "l"(place()), "r"(value) : "memory");
    }

private:
    __device__ Address place() const { return __cvta_generic_to_local(&value_); }
    Value value_;
};

/// Notes an access that may be the first to its page, or to a page without a note.
class FirstAccess {
public:
    __device__ FirstAccess(void* given, Address address, Word bytes, PageUse use) {
        given_ = reinterpret_cast<Address>(given);
        address_ = address;
        bytes_ = bytes;
        use_ = static_cast<Word>(use);
    }

    __device__ void note() {
        const Word record = find();
        if (record == 0) {
            if (now(notes()->lost) == 0) notes()->lost = 1;
            return;
        }
        const Word shift = shift_of(address_, bytes_), count = bytes_ >> shift;
        const Word first = static_cast<Word>(address_) >> shift & (DeviceNotes::bits - 1);
        if ((record & DeviceNotes::no_note) == 0) {
            const Word bits = ones(count) << (first & 31);
            Word* const word =
                Launch(given()).bits_of_notes() + (Address{record - 1} * DeviceNotes::words + (first >> 5));
            if ((now(*word) & bits) != bits) atomicOr(word, bits);
        } else if (count != 0) {
            DeviceNotes::Record& bounds = notes()->records[(record & ~DeviceNotes::no_note) - 1];
            const Word below_end = (1U << 16) - (first << shift);
            if (now(bounds.below_end) < below_end) atomicMax(&bounds.below_end, below_end);
            const Word end = (first + count) << shift;
            if (now(bounds.end) < end) atomicMax(&bounds.end, end);
        }
    }

private:
    __device__ void* given() const { return reinterpret_cast<void*>(Address{given_}); }
    __device__ DeviceNotes* notes() const { return Launch(given()).notes(); }
    __device__ DeviceNotes::Entry* entry() const { return Launch(given()).entries() + Word{at_}; }
    __device__ bool full() const { return now(notes()->taken) >= notes()->record_count; }

    /// The record of the page, as an entry has it; 0 where there is no room for one.
    __device__ Word find() {
        constexpr Word most_tries = 64, most_waits = 2000;
        key_ = key_of(Launch(given()).number, address_, bytes_, static_cast<PageUse>(Word{use_}));
        at_ = Launch(given()).place_of(key_);
#pragma unroll 1
        for (tries_ = 0; tries_ < most_tries; tries_ = tries_ + 1) {
            Address found, record;
            load_entry(entry(), found, record);
            if (found == key_ && record != 0) return static_cast<Word>(record);
            if (found == 0) {
                if (full()) return 0;
                found = atomicCAS(reinterpret_cast<unsigned long long*>(&entry()->key), 0ULL, Address{key_});
                if (found == 0) return take_record();
            }
            if (found == key_) {
                // Who was first is about to take a record. Not for ever: it may be a thread of this warp that waits
                // for us.
#pragma unroll 1
                for (Word waits = 0; waits < most_waits; ++waits) {
                    if (const Word known = now(entry()->record)) return known;
                    if (full()) return 0;
                }
                return take_record();
            }
            at_ = (at_ + 1) & ones(Launch(given()).entries_log2);
        }
        return 0;
    }

    /// What an entry becomes that this thread was the first to meet; 0 where there is no room.
    __device__ Word take_record() {
        if (full()) return 0;
        Word record = atomicAdd(&notes()->taken, 1U) + 1;
        if (record > notes()->record_count) return 0;
        if (record > notes()->note_count) record |= DeviceNotes::no_note;
        // After long waiting another thread may have taken one as well: then this one stays empty.
        if (const Word other = atomicCAS(&entry()->record, 0U, record)) return other;
        notes()->records[(record & ~DeviceNotes::no_note) - 1].key = key_;
        return record;
    }

    InMemory<Address> given_, address_, key_;
    InMemory<Word> bytes_, use_, at_, tries_;
};

/// Sets `count` bits from bit number `first` of all notes on. Where threads that follow one another mean what follows,
/// or the same, within one word, the first of them speaks for all.
__device__ void set_bits(Word* bits_of_notes, Word first, Word count) {
    const Word active = __activemask(), lane = lane_of_this_thread();
    const Word before = __shfl_up_sync(active, first, 1);
    const bool follows = (active << 1 >> lane & 1) != 0;
    const Word next = __ballot_sync(active, follows && first == before + count && (first & 31) != 0);
    const Word same = __ballot_sync(active, follows && first == before);
    if (((next | same) >> lane & 1) != 0) return;
    // Those behind this thread that it speaks for. Twice by half: a shift by 32 is none.
    const Word others = (next | same) >> lane >> 1;
    const Word spoken_for = others & (others + 1 ^ others) >> 1;
    const Word bits = ones(count * (1 + __popc(next >> lane >> 1 & spoken_for)));
    atomicOr(&bits_of_notes[first >> 5], bits << (first & 31));
}

/// An access, aligned to its size, by each of the active threads: of equally many bytes.
__device__ void note_access(void* given, Address address, Word bytes, PageUse use) {
    const Launch launch(given);
    const Address key = key_of(launch.number, address, bytes, use);
    Address found, record;
    load_entry(&launch.entries()[launch.place_of(key)], found, record);
    if (found != key || static_cast<int>(record) <= 0) {
        FirstAccess(given, address, bytes, use).note();
        return;
    }
    const Word shift = shift_of(address, bytes);
    // Of all bits of all notes.
    const Word first = (static_cast<Word>(record) - 1) << DeviceNotes::bits_log2 |
                       (static_cast<Word>(address) >> shift & (DeviceNotes::bits - 1));
    const Word bits = ((1U << (bytes >> shift)) - 1) << (first & 31);
    Word known;
    asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(known) : "l"(&launch.bits_of_notes()[first >> 5]));
    if ((known & bits) != bits) set_bits(launch.bits_of_notes(), first, bytes >> shift);
}

/// A copy of a multiple of 16 bytes that all active threads ask for together.
__device__ void note_copy(void* given, Address address, Word bytes, PageUse use) {
    constexpr Address span = 128;  // what one word of bits stands for
    const Word active = __activemask();
    const Word before = __popc(active & ones(lane_of_this_thread()));
    const Address end = address + bytes;
#pragma unroll 1
    for (Address at = (address & ~(span - 1)) + before * span; at < end; at += __popc(active) * span) {
        const Address from = at < address ? address : at, to = at + span < end ? at + span : end;
        FirstAccess(given, from, static_cast<Word>(to - from), use).note();
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

/// A kernel that was patched notes that it ran, whatever it touches: in page 0.
extern "C" __device__ __noinline__ int streamsan_block_enter(void* given, Address) {
    if (given == nullptr) return go_on;
    if (lane_of_this_thread() == __ffs(__activemask()) - 1) FirstAccess(given, 0, 0, PageUse::read).note();
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
    // Threads speak for each other where all read equally much.
    if (zeros == 0) note_access(given, reinterpret_cast<Address>(source), bytes, PageUse::read);
    else FirstAccess(given, reinterpret_cast<Address>(source), bytes - zeros, PageUse::read).note();
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
