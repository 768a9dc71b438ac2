// The fast path. See recording.hpp for how it meets a rotation.
#include <algorithm>
#include <cstring>

#include "generated/vocabulary.hpp"
#include "recorder/launch_path.hpp"
#include "recorder/trace_writer/file_format.hpp"
#include "recorder/trace_writer/live_words.hpp"
#include "recorder/trace_writer/recording.hpp"
#include "recorder/trace_writer/writer.hpp"

namespace streamsan::recorder {
namespace {

std::uint64_t& last_word_of(Slot& slot) {
    constexpr std::size_t last_word = 56;
    return *reinterpret_cast<std::uint64_t*>(reinterpret_cast<std::byte*>(&slot) + last_word);
}

}  // namespace

inline Slot* Lane::try_reserve(unsigned need) {
    busy_.store(true, std::memory_order_relaxed);
    // This addition is also the fence of the rotation protocol: it must stay between the two accesses around it.
    const std::uint64_t sequence = counter_->fetch_add(1, std::memory_order_acq_rel) + 1;
    if (live_->generation.load(std::memory_order_relaxed) != generation_) [[unlikely]] {
        busy_.store(false, std::memory_order_release);
        return nullptr;
    }
    // The pages are the file system's zeros, and `drop` leaves zeros.
    Slot* slot = base_ + used_;
    slot->sequence = sequence;
    slot->thread = thread_;
    pending_ = need;
    return slot;
}

STREAMSAN_LAUNCH_PATH Slot* Lane::reserve(unsigned more) {
    const unsigned need = more + 1;
    if (need <= limit_ - used_ && pending_ == 0 && need <= 256) [[likely]]
        if (Slot* slot = try_reserve(need)) [[likely]]
            return slot;
    return reserve_slowly(need);
}

Slot* Lane::reserve_slowly(unsigned need) {
    drop();
    if (need > 256) return nullptr;  // more than a slot's `more` can say
    if (restated_ != nullptr) return restate(need);
    while (Recording::take_fetched(*this, need) || recording_->make_room(*this, need))
        if (Slot* slot = try_reserve(need)) return slot;
    return nullptr;
}

Slot* Lane::restate(unsigned need) {
    restated_->resize(restated_->size() + need);
    pending_ = need;
    return restated_->data() + (restated_->size() - need);
}

STREAMSAN_LAUNCH_PATH void Lane::commit() {
    if (pending_ == 0) return;
    if (restated_ != nullptr) [[unlikely]] {
        (restated_->data() + (restated_->size() - pending_))->more = static_cast<std::uint8_t>(pending_ - 1);
        pending_ = 0;
        return;
    }
    Slot& slot = base_[used_];
    if (slot.sequence <= last_) [[unlikely]]
        slot.sequence = counter_->fetch_add(1, std::memory_order_acq_rel) + 1;
    if (slot.site >= live_->sites.load(std::memory_order_relaxed)) [[unlikely]]
        slot.site = 0;
    if (slot.api >= live_->apis.load(std::memory_order_relaxed)) [[unlikely]]
        slot.api = 0;
    last_ = slot.sequence;
    latest_ = &slot;
    slot.more = static_cast<std::uint8_t>(pending_ - 1);
    used_ += pending_;
    slots_ += pending_;
    ++operations_;
    pending_ = 0;
    std::atomic_ref(*commit_).store(commit_mark(std::uint64_t{used_} * sizeof(Slot)), std::memory_order_release);
    busy_.store(false, std::memory_order_release);
    // The next operation's lines, which the page fetcher or the kernel zeroed on another core: they come until it is
    // there.
    __builtin_prefetch(base_ + used_, 1);
    __builtin_prefetch(base_ + used_ + 1, 1);
}

void Lane::drop() {
    if (pending_ == 0) return;
    if (restated_ != nullptr) {
        restated_->resize(restated_->size() - pending_);
    } else {
        std::memset(static_cast<void*>(base_ + used_), 0, pending_ * sizeof(Slot));
        busy_.store(false, std::memory_order_release);
    }
    pending_ = 0;
}

Slot* Lane::renumber(Slot* slot) {
    if (slot == nullptr || restated_ != nullptr) return slot;
    drop();
    if (slot != latest_) return write_again(slot);
    busy_.store(true, std::memory_order_relaxed);
    const std::uint64_t sequence = counter_->fetch_add(1, std::memory_order_acq_rel) + 1;
    const bool current = live_->generation.load(std::memory_order_relaxed) == generation_;
    if (current) {
        last_ = sequence;
        std::atomic_ref(slot->sequence).store(sequence, std::memory_order_release);
    }
    busy_.store(false, std::memory_order_release);
    return current ? slot : write_again(slot);
}

Slot* Lane::write_again(Slot* slot) {
    const bool superseded = slot != latest_;
    std::vector<Slot> kept;
    if (slot->kind != 0) kept.assign(slot, slot + slot->more + 1);
    if (!recording_->make_room(*this, 1)) return slot;
    // Rotations may have taken the mapping away meanwhile; of a lane's latest operation they leave a copy.
    recording_->copy_saved(*this, slot, kept);
    if (kept.empty() || kept.front().kind == 0) return slot;
    const unsigned more = kept.front().more;
    Slot* copy = reserve(more);
    if (copy == nullptr) return slot;
    const std::uint64_t sequence = copy->sequence;
    const std::uint16_t thread = copy->thread;
    std::copy(kept.begin(), kept.end(), copy);
    copy->sequence = sequence;
    copy->thread = thread;
    commit();
    if (superseded) {
        // The first telling stays where it is, as a call without effect: it is no longer a wait that never returned.
        const std::uint64_t word = std::atomic_ref(last_word_of(*slot)).load(std::memory_order_relaxed);
        const std::uint64_t kind = std::uint64_t{0xff} << 16,
                            flags = std::uint64_t{static_cast<std::uint8_t>(SlotFlag::ENTER)} << 32;
        const auto call = static_cast<std::uint64_t>(OperationKind::CALL) << 16;
        std::atomic_ref(last_word_of(*slot)).store((word & ~(kind | flags)) | call, std::memory_order_release);
    }
    return copy;
}

}  // namespace streamsan::recorder
