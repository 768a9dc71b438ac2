// The Python face of the engine.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <span>
#include <utility>

#include "engine.hpp"
#include "reference_patches.hpp"

namespace nb = nanobind;
using namespace streamsan;
using namespace streamsan::order;

namespace {

using Bytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class Number>
using Numbers = nb::ndarray<Number, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class Number>
std::span<Number> span_of(const Numbers<Number>& numbers) {
    return {numbers.data(), numbers.shape(0)};
}

/// Arrays of one length each: of patches, and of shapes.
ReferencePatches reference_patches(const Numbers<const std::uint8_t>& verdicts, const Numbers<const std::uint8_t>& bits,
                                   const Numbers<const std::uint64_t>& begins,
                                   const Numbers<const std::uint64_t>& sizes,
                                   const Numbers<const std::uint64_t>& firsts,
                                   const Numbers<const std::uint64_t>& counts, const Numbers<const std::uint8_t>& rooms,
                                   const Numbers<const std::uint8_t>& talks, std::uint8_t own_bits,
                                   std::uint8_t further_bits) {
    std::vector<ReferencePatch> patches(verdicts.shape(0));
    if (std::min({bits.shape(0), begins.shape(0), sizes.shape(0)}) < patches.size()) throw nb::value_error("patches");
    for (std::size_t i = 0; i < patches.size(); ++i) {
        patches[i] = {static_cast<ReferencePatch::Verdict>(verdicts(i)), bits(i), begins(i), sizes(i)};
    }
    std::vector<ShapePatches> shapes(firsts.shape(0));
    if (std::min({counts.shape(0), rooms.shape(0), talks.shape(0)}) < shapes.size()) throw nb::value_error("shapes");
    for (std::size_t i = 0; i < shapes.size(); ++i) shapes[i] = {firsts(i), counts(i), rooms(i), talks(i) != 0};
    return ReferencePatches(std::move(patches), std::move(shapes), own_bits, further_bits);
}

bool patch(ReferencePatches& patches, const Numbers<std::uint64_t>& words, const Numbers<std::int64_t>& launches,
           const Numbers<std::uint8_t>& patched, const Numbers<std::uint8_t>& talkers) {
    static_assert(alignof(Slot) == alignof(std::uint64_t));
    if (launches.shape(0) == 0) throw nb::value_error("launches");
    const std::span slots(reinterpret_cast<Slot*>(words.data()),
                          words.shape(0) / (sizeof(Slot) / sizeof(std::uint64_t)));
    const PatchedNotes notes{span_of(launches), span_of(patched), span_of(talkers)};
    nb::gil_scoped_release unlocked;
    return patches.patch(slots, notes);
}

/// A row of four numbers for each operation.
using Rows4 = nb::ndarray<std::int64_t, nb::shape<-1, 4>, nb::c_contig, nb::device::cpu>;

template <class Row>
std::span<Row> rows_of(const Rows4& rows) {
    static_assert(sizeof(Row) == 4 * sizeof(std::int64_t));
    return {reinterpret_cast<Row*>(rows.data()), rows.shape(0)};
}

/// The arrays have to live until the engine has had its last slot.
void retime(Engine& engine, bool predicts, const Numbers<const std::uint64_t>& sequences,
            const Numbers<const std::uint16_t>& threads, const Rows4& times, const Rows4& own,
            const Numbers<std::uint8_t>& unbound, const Numbers<const std::uint16_t>& fills,
            const Numbers<const std::uint8_t>& engines, const Rows4& predicted, std::int64_t inserted_wait) {
    const std::size_t count = sequences.shape(0);
    if (std::min({threads.shape(0), times.shape(0), own.shape(0), unbound.shape(0), fills.shape(0), engines.shape(0),
                  predicted.shape(0)}) < count)
        throw nb::value_error("a row for each operation");
    const TimedOperations operations{
        span_of(sequences), span_of(threads), rows_of<const CallTimes>(times), rows_of<OwnTimes>(own), span_of(unbound),
        span_of(fills),     span_of(engines), rows_of<CallTimes>(predicted),   inserted_wait};
    if (predicts) engine.retiming().predict(operations);
    else engine.retiming().measure(operations);
}

template <class Enumeration>
int number(Enumeration value) {
    return static_cast<int>(value);
}

nb::tuple operation_tuple(const Engine& engine, const Operation& operation) {
    const StreamName& name = engine.stream_name(operation.stream_name);
    return nb::make_tuple(operation.sequence, number(operation.kind), operation.site, operation.api, operation.thread,
                          engine.process_of(operation.thread), name.handle, operation.flags, operation.status,
                          name.site, number(name.kind), name.assumed, name.number);
}

nb::object allocation_tuple(const AllocationFact& allocation) {
    if (!allocation.known) return nb::none();
    return nb::make_tuple(allocation.address, allocation.size, allocation.generation, number(allocation.kind),
                          allocation.assumed, allocation.site);
}

/// Nothing where it is not known what is touched.
nb::object touch_tuple(const Engine& engine, const Touch& touch) {
    if (!touch.known) return nb::none();
    const Rows& rows = touch.rows;
    return nb::make_tuple(touch.begin, touch.end,
                          nb::make_tuple(rows.width, rows.pitch, rows.count, rows.slice_pitch, rows.slices),
                          nb::make_tuple(touch.bounds.low, touch.bounds.high), touch.surely, touch.atomic,
                          touch.has_node ? nb::object(operation_tuple(engine, touch.node)) : nb::object(nb::none()));
}

template <class Range, class Make>
nb::list list_of(const Range& range, Make&& make) {
    nb::list list;
    for (const auto& each : range) list.append(make(each));
    return list;
}

nb::list fact_tuples(const Engine& engine) {
    return list_of(engine.facts(), [&](const Fact& fact) {
        nb::list related;
        for (std::uint8_t i = 0; i < fact.related_count; ++i) {
            related.append(
                nb::make_tuple(number(fact.related[i].role), operation_tuple(engine, fact.related[i].operation)));
        }
        return nb::make_tuple(number(fact.code), number(fact.variant), operation_tuple(engine, fact.operation), related,
                              allocation_tuple(fact.allocation), number(fact.rests_on), fact.assumed, fact.may_be_equal,
                              fact.unseen, fact.likely, fact.polled, fact.count, fact.cost,
                              touch_tuple(engine, fact.touches[0]), touch_tuple(engine, fact.touches[1]));
    });
}

/// Site, API, status, and the driver's words; text of a file may be anything.
nb::tuple explanation_tuple(const Explanation& each) {
    return nb::make_tuple(each.call.site, each.call.api, each.call.status,
                          nb::bytes(each.text.data(), each.text.size()));
}

/// Sites of waits that brought something at least once, with their APIs.
nb::list needed_tuples(const Engine& engine) {
    nb::list list;
    for (const Waits::Site& site : engine.waits()) {
        if (site.needed) list.append(nb::make_tuple(site.first.site, site.first.api));
    }
    return list;
}

/// Whether the operation was met, the calls made before it, and the works complete before it: sequence numbers.
nb::tuple before_tuple(const Engine& engine, std::uint64_t sequence) {
    const Watch::Before before = engine.watched().before(sequence);
    return nb::make_tuple(before.seen, before.calls, before.works);
}

}  // namespace

NB_MODULE(_engine, module) {
    nb::list kinds;
    for (const std::string_view name : edge_names) kinds.append(nb::str(name.data(), name.size()));
    module.attr("EDGE_KINDS") = nb::tuple(kinds);
    nb::class_<ReferencePatches>(module, "ReferencePatches")
        .def(nb::new_(&reference_patches), nb::arg("verdicts"), nb::arg("bits"), nb::arg("begins"), nb::arg("sizes"),
             nb::arg("firsts"), nb::arg("counts"), nb::arg("rooms"), nb::arg("talks"), nb::arg("own_bits"),
             nb::arg("further_bits"))
        .def("patch", &patch, nb::arg("words"), nb::arg("launches"), nb::arg("patched"), nb::arg("talkers"));
    nb::class_<Engine>(module, "Engine")
        .def(nb::init<const std::vector<std::int64_t>&, bool, const std::vector<std::uint16_t>&,
                      const std::vector<std::uint16_t>&, bool, std::uint64_t, std::uint64_t>(),
             nb::arg("thread_process"), nb::arg("requirements") = false,
             nb::arg("asking") = std::vector<std::uint16_t>(), nb::arg("setting") = std::vector<std::uint16_t>(),
             nb::arg("recording") = false, nb::arg("begins_at") = 0, nb::arg("without") = 0)
        .def(
            "feed",
            [](Engine& engine, const Bytes& bytes) {
                const std::size_t slots = bytes.shape(0) / sizeof(Slot);
                const unsigned char* data = bytes.data();
                nb::gil_scoped_release unlocked;
                engine.feed(data, slots);
            },
            nb::arg("slots"))
        .def("judge_from", &Engine::judge_from, nb::arg("sequence"))
        .def("watch", &Engine::watch, nb::arg("sequences"), nb::arg("early") = std::vector<std::uint64_t>{})
        .def("before", &before_tuple, nb::arg("sequence"))
        .def(
            "has_met", [](const Engine& engine, std::uint64_t sequence) { return engine.watched().has_seen(sequence); },
            nb::arg("sequence"))
        .def(
            "is_before",
            [](const Engine& engine, std::uint64_t earlier, std::uint64_t asked) {
                return engine.watched().is_before(earlier, asked);
            },
            nb::arg("earlier"), nb::arg("asked"))
        .def("retime", &retime, nb::arg("predicts"), nb::arg("sequences"), nb::arg("threads"), nb::arg("times"),
             nb::arg("own"), nb::arg("unbound"), nb::arg("fills"), nb::arg("engines"), nb::arg("predicted"),
             nb::arg("inserted_wait"), nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>(), nb::keep_alive<1, 5>(),
             nb::keep_alive<1, 6>(), nb::keep_alive<1, 7>(), nb::keep_alive<1, 8>(), nb::keep_alive<1, 9>(),
             nb::keep_alive<1, 10>())
        .def("finish", &Engine::finish)
        .def("facts", &fact_tuples)
        .def("unmet",
             [](const Engine& engine) {
                 return list_of(engine.unmet(), [](const Unmet& each) {
                     return nb::make_tuple(number(each.sort), each.earlier, each.later);
                 });
             })
        .def("needed_waits", &needed_tuples)
        .def("inside",
             [](const Engine& engine) {
                 return list_of(engine.inside(), [&](const Operation& each) { return operation_tuple(engine, each); });
             })
        .def("explanations", [](const Engine& engine) { return list_of(engine.explanations(), &explanation_tuple); })
        .def_prop_ro("launched", &Engine::has_launched)
        .def_prop_ro("blocks", &Engine::has_blocks)
        .def_prop_ro("used_host_memory", &Engine::has_used_host_memory)
        .def_prop_ro("operations", &Engine::operations)
        .def_prop_ro("problems", &Engine::problems)
        .def_prop_ro("allocations", &Engine::allocations)
        .def_prop_ro("timelines", &Engine::timelines);
}
