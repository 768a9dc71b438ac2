#include "recorder/cuda/kernel_pattern.hpp"

#include "recorder/run/omissions.hpp"

namespace streamsan::recorder::cuda {

KernelPattern::KernelPattern(const std::string& pattern)
    : usable_(regcomp(&compiled_, pattern.c_str(), REG_EXTENDED | REG_NOSUB) == 0) {
    if (!usable_) note_omission("the accesses of no kernel are seen: the expression for their names is not understood");
}

KernelPattern::~KernelPattern() {
    if (usable_) regfree(&compiled_);
}

bool KernelPattern::is_in(const char* name) const { return usable_ && regexec(&compiled_, name, 0, nullptr, 0) == 0; }

}  // namespace streamsan::recorder::cuda
