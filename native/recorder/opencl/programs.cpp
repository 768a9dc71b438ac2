// Programs and samplers, and the calls that may block while they build.
#include <algorithm>
#include <cstring>
#include <memory>
#include <set>
#include <string>

#include "recorder/opencl/call.hpp"
#include "recorder/opencl/live_objects.hpp"
#include "recorder/opencl/program_images.hpp"
#include "recorder/opencl/releases.hpp"
#include "recorder/run/code_folder.hpp"

namespace streamsan::recorder::opencl {
namespace {

template <Objects<NoInfo> LiveObjects::* objects, HandleKind sort>
void made(Call& call) {
    if (call.result == 0) return;
    (live().*objects).made(call.result, {});
    write_handle(call, sort, call.result, call[0]);
}

template <auto objects, HandleKind sort, std::int32_t invalid>
void release(Call& call) {
    begin_release(call, live().*objects, {OperationKind::HANDLE_DESTROY, sort, invalid});
}

void completed(Call& call) { complete(call); }

/// Kernels hold their program: who asks one for it may retain it, also when the program has released its references.
void retain_program(Call& call) { call.scratch[0] = live().programs.retain(call[0]) == Standing::dead ? 1 : 0; }

void program_retained(Call& call) {
    if (call.scratch[0] == 0 || !call.succeeded()) return end_retain(call, live().programs);
    const ProgramInfo info = live().programs.find(call[0]).value_or(ProgramInfo{});
    live().programs.made(call[0], info);
    write_handle(call, HandleKind::PROGRAM, call[0], info.context);
}

/// Kernels have what they need of it; a program that is retained again gives no more of them that are read.
void program_released(Call& call) {
    complete(call);
    const auto found = live().programs.find(call[0]);
    if (!found || found->program == nullptr || live().programs.standing(call[0]) != Standing::dead) return;
    const std::lock_guard lock(found->program->mutex);
    found->program->content.reset();
    found->program->builds.clear();
}

void new_program(Call& call, std::shared_ptr<Program> program) {
    live().programs.made(call.result, {std::move(program), call[0]});
    write_handle(call, HandleKind::PROGRAM, call.result, call[0]);
}

/// Of a program that is made from what nobody reads: the word that says so.
void program_not_read(Call& call, const char* word) {
    if (call.result == 0) return;
    auto program = std::make_shared<Program>();
    program->builds = {{0, {ProgramImage::not_read(word)}}};
    new_program(call, std::move(program));
}

/// The strings of clCreateProgramWithSource, one behind the other; null where they are too long to be kept.
std::shared_ptr<const std::string> source_of(const Call& call) {
    using namespace parameter::clCreateProgramWithSource;
    std::string text;
    const auto number = static_cast<std::uint32_t>(call[count]);
    for (Word position = 0; position < number; ++position) {
        const auto* const piece = read_word<const char*>(call[strings] + position * sizeof(Word));
        if (piece == nullptr) return nullptr;
        const Word length = call[lengths] == 0 ? 0 : read_word(call[lengths] + position * sizeof(Word));
        const std::size_t size = length != 0 ? length : std::strlen(piece);
        if (size > CodeFolder::most_of_image - text.size()) return nullptr;
        text.append(piece, size);
    }
    return std::make_shared<const std::string>(std::move(text));
}

void program_of_source_made(Call& call) {
    if (call.result == 0) return;
    auto program = std::make_shared<Program>();
    program->origin = Program::Origin::text;
    if (!recorder()->settings.code.empty()) program->content = source_of(call);
    new_program(call, std::move(program));
}

void program_of_module_made(Call& call) {
    using namespace parameter::clCreateProgramWithIL;
    if (call.result == 0) return;
    auto program = std::make_shared<Program>();
    program->origin = Program::Origin::module;
    const bool kept = !recorder()->settings.code.empty() && call[length] <= CodeFolder::most_of_image;
    if (kept && call[il] != 0)
        program->content = std::make_shared<const std::string>(reinterpret_cast<const char*>(call[il]), call[length]);
    new_program(call, std::move(program));
}

/// Without a callback a build is done when the call returns.
template <unsigned notify>
void build(Call& call) {
    write_entered(call, OperationKind::CALL, call[notify] == 0 ? Detail(CallClass::BLOCKING) : Detail(0), 0, 0);
}

constexpr Word most_devices = 1 << 12;

/// A program is built for all its devices, or for those that are named; what others have stays.
void built_for(ProgramBuilds& builds, Word count, Word devices, const std::shared_ptr<ProgramImage>& image) {
    const Word named = devices == 0 ? 0 : std::min<Word>(static_cast<std::uint32_t>(count), most_devices);
    if (named == 0) builds.clear();
    for (Word position = 0; position < std::max<Word>(named, 1); ++position) {
        const Word device = named == 0 ? 0 : read_word(devices + position * sizeof(Word));
        const auto there = std::ranges::find_if(builds, [device](const auto& each) { return each.first == device; });
        if (there != builds.end()) there->second = {image};
        else builds.emplace_back(device, ProgramImages{image});
    }
}

/// A text is built with these options: they may make another one of each kernel.
template <unsigned program, unsigned count, unsigned devices, unsigned options, unsigned notify>
void build_program(Call& call) {
    build<notify>(call);
    const auto found = live().programs.find(call[program]);
    if (!found || found->program == nullptr) return;
    Program& built = *found->program;
    const std::lock_guard lock(built.mutex);
    if (built.content == nullptr) return;
    const auto* const given = reinterpret_cast<const char*>(call[options]);
    built_for(built.builds, call[count], call[devices],
              built.origin == Program::Origin::module
                  ? ProgramImage::module(built.content)
                  : ProgramImage::text(built.content, given == nullptr ? "" : given));
}

/// A kernel of it may be of any of the programs that it is linked from.
void program_linked(Call& call) {
    using namespace parameter::clLinkProgram;
    complete(call);
    if (call.result == 0) return;
    auto program = std::make_shared<Program>();
    constexpr Word most_programs = 1 << 12;
    const Word number = std::min<Word>(static_cast<std::uint32_t>(call[num_input_programs]), most_programs);
    std::vector<ProgramBuilds> parts;
    std::set<Word> devices{0};
    for (Word position = 0; call[input_programs] != 0 && position < number; ++position) {
        parts.push_back(builds_of(read_word(call[input_programs] + position * sizeof(Word))));
        for (const auto& [device, _] : parts.back()) devices.insert(device);
    }
    const bool known = std::ranges::none_of(parts, [](const ProgramBuilds& part) { return part.empty(); });
    for (const Word device : known ? devices : std::set<Word>{}) {
        ProgramImages images;
        for (const ProgramBuilds& part : parts) {
            const ProgramImages more = images_for(part, device);
            images.insert(images.end(), more.begin(), more.end());
        }
        program->builds.emplace_back(device, std::move(images));
    }
    new_program(call, std::move(program));
}

}  // namespace

void register_programs(HandlerTable& table) {
    table.on(Function::clCreateProgramWithSource, {nullptr, program_of_source_made});
    for (const Function function : {Function::clCreateProgramWithIL, Function::clCreateProgramWithILKHR})
        table.on(function, {nullptr, program_of_module_made});
    table.on(Function::clCreateProgramWithBinary, {nullptr, [](Call& call) { program_not_read(call, "binary"); }});
    table.on(Function::clCreateProgramWithBuiltInKernels,
             {nullptr, [](Call& call) { program_not_read(call, "built-in"); }});
    table.on(Function::clLinkProgram, {build<parameter::clLinkProgram::pfn_notify>, program_linked});
    {
        using namespace parameter::clBuildProgram;
        table.on(Function::clBuildProgram,
                 {build_program<program, num_devices, device_list, options, pfn_notify>, completed});
    }
    {
        using namespace parameter::clCompileProgram;
        table.on(Function::clCompileProgram,
                 {build_program<program, num_devices, device_list, options, pfn_notify>, completed});
    }
    table.on(Function::clRetainProgram, {retain_program, program_retained});
    table.on(Function::clReleaseProgram,
             {release<&LiveObjects::programs, HandleKind::PROGRAM, abi::CL_INVALID_PROGRAM>, program_released});
    constexpr auto sampler_made = made<&LiveObjects::samplers, HandleKind::SAMPLER>;
    table.on(Function::clCreateSampler, {nullptr, sampler_made});
    table.on(Function::clCreateSamplerWithProperties, {nullptr, sampler_made});
    table.on(Function::clRetainSampler, {[](Call& call) { begin_retain(call, live().samplers, HandleKind::SAMPLER); },
                                         [](Call& call) { end_retain(call, live().samplers); }});
    table.on(Function::clReleaseSampler,
             {release<&LiveObjects::samplers, HandleKind::SAMPLER, abi::CL_INVALID_SAMPLER>, completed});
}

}  // namespace streamsan::recorder::opencl
