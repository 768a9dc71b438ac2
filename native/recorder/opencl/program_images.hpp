// What programs were made from: kernels' use of memory is read from it by who checks the trace.
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "recorder/opencl/call.hpp"

namespace streamsan::recorder::opencl {

/// A text or a module as it was built. Any thread may use it.
class ProgramImage {
public:
    /// A text in OpenCL C, with the options of its build.
    static std::shared_ptr<ProgramImage> text(std::shared_ptr<const std::string> source, std::string options);
    /// A module of SPIR-V.
    static std::shared_ptr<ProgramImage> module(std::shared_ptr<const std::string> words);
    /// What nobody reads: a word for it stands in the place of the name.
    static std::shared_ptr<ProgramImage> not_read(std::string word);

    /// Its name in the run's folder; "" where it is not kept. It is written there when this is first asked.
    const std::string& name();

    ProgramImage(std::shared_ptr<const std::string> content, std::string options, std::string_view suffix)
        : content_(std::move(content)), options_(std::move(options)), suffix_(suffix) {}

private:
    std::shared_ptr<const std::string> content_;
    std::string options_;
    std::string_view suffix_;
    std::once_flag asked_;
    std::string name_;
};
using ProgramImages = std::vector<std::shared_ptr<ProgramImage>>;

/// What a program was last built from, or linked from, by device; 0: all that are not named.
using ProgramBuilds = std::vector<std::pair<Word, ProgramImages>>;

/// What a device runs of a program.
ProgramImages images_for(const ProgramBuilds& builds, Word device);

/// What is known of a program.
struct Program {
    enum class Origin : std::uint8_t { unknown, text, module };

    std::mutex mutex;
    Origin origin = Origin::unknown;
    std::shared_ptr<const std::string> content;  ///< null: it is not kept
    ProgramBuilds builds;
};

/// The string id of the names of images, 0 where one is not kept: a kernel may be of that one.
std::uint32_t code_names(const ProgramImages& images);

/// What a program that kernels are being made from was built from.
ProgramBuilds builds_of(Word program);

}  // namespace streamsan::recorder::opencl
