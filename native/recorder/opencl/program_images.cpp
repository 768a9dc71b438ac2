#include "recorder/opencl/program_images.hpp"

#include <algorithm>
#include <span>

#include "recorder/opencl/live_objects.hpp"
#include "recorder/opencl/recorder.hpp"
#include "recorder/run/code_folder.hpp"

namespace streamsan::recorder::opencl {
namespace {

constexpr std::string_view text_suffix = ".cl";
constexpr std::string_view module_suffix = ".spv";

CodeFolder& code_folder() {
    static CodeFolder& all = *new CodeFolder;
    return all;
}

}  // namespace

std::shared_ptr<ProgramImage> ProgramImage::text(std::shared_ptr<const std::string> source, std::string options) {
    // The file has the options, a zero, and the source.
    options += '\0';
    return std::make_shared<ProgramImage>(std::move(source), std::move(options), text_suffix);
}

std::shared_ptr<ProgramImage> ProgramImage::module(std::shared_ptr<const std::string> words) {
    return std::make_shared<ProgramImage>(std::move(words), "", module_suffix);
}

std::shared_ptr<ProgramImage> ProgramImage::not_read(std::string word) {
    auto image = std::make_shared<ProgramImage>(nullptr, "", "");
    image->name_ = std::move(word);
    return image;
}

const std::string& ProgramImage::name() {
    std::call_once(asked_, [this] {
        if (content_ == nullptr) return;
        const Recorder& here = *recorder();
        const std::string image = options_ + *content_;
        const auto* const bytes = reinterpret_cast<const unsigned char*>(image.data());
        name_ = code_folder().keep(here.settings, *here.writer, suffix_, std::span(bytes, image.size()));
        if (!name_.empty()) name_ += suffix_;
        content_.reset();
    });
    return name_;
}

ProgramImages images_for(const ProgramBuilds& builds, Word device) {
    const auto of = [&](Word wanted) {
        return std::ranges::find_if(builds, [wanted](const auto& build) { return build.first == wanted; });
    };
    if (const auto own = of(device); own != builds.end()) return own->second;
    if (const auto all = of(0); all != builds.end()) return all->second;
    ProgramImages any;
    for (const auto& [_, images] : builds) any.insert(any.end(), images.begin(), images.end());
    return any;
}

std::uint32_t code_names(const ProgramImages& images) {
    std::string names;
    for (const std::shared_ptr<ProgramImage>& image : images) {
        if (image->name().empty()) return 0;
        names += (names.empty() ? "" : " ") + image->name();
    }
    return names.empty() ? 0 : recorder()->writer->string(names);
}

ProgramBuilds builds_of(Word program) {
    const auto found = live().programs.find(program);
    if (!found || found->program == nullptr) return {};
    const std::lock_guard lock(found->program->mutex);
    return found->program->builds;
}

}  // namespace streamsan::recorder::opencl
