// A regular expression that is searched for in names of kernels.
#pragma once
#include <regex.h>
#include <string>

namespace streamsan::recorder::cuda {

/// The C library's, POSIX's extended ones: those of C++ call themselves for each character, which ends the program
/// where a name is long and its stack is small.
class KernelPattern {
public:
    explicit KernelPattern(const std::string& pattern);
    ~KernelPattern();
    KernelPattern(const KernelPattern&) = delete;
    KernelPattern& operator=(const KernelPattern&) = delete;

    [[nodiscard]] bool is_in(const char* name) const;

private:
    regex_t compiled_{};
    bool usable_;
};

}  // namespace streamsan::recorder::cuda
