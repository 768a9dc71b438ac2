// What `streamsan run` passes to the recorder.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace streamsan::recorder {

/// The variable of the environment that holds the settings.
constexpr const char* settings_variable = "STREAMSAN_RECORD";

/// What `streamsan run` passes in STREAMSAN_RECORD, parsed by settings.cpp: `key=value` pairs, one a line, values
/// escaped.
struct Settings {
    bool sites = true;      ///< record call sites
    std::string output;     ///< F.sst of the run; other processes write F.<pid>.sst beside it
    std::string counter;    ///< the shared sequence counter
    std::string run;        ///< random id that the files of a run share
    std::string cupti;      ///< folders and files to look for libcupti in, ':' separated, before the usual ones
    std::string sanitizer;  ///< files that may be the Sanitizer API, ':' separated; "": the accesses of kernels are not
                            ///< asked for
    std::string patch;      ///< file with the functions that the Sanitizer API puts into kernels
    std::string kernels;    ///< regular expression: kernels whose accesses are asked for; "": all
    std::uint32_t accesses_first = 0;  ///< of launches of one kind only so many are looked at; 0: all
    std::uint64_t max_bytes = 0;
    bool host_accesses = false;  ///< notice accesses of the host to memory that work uses
    bool times = false;          ///< say when the device did the work
    bool driver_pools = false;   ///< frameworks are to take the driver's pools
    bool poison = false;         ///< overwrite what was given back, where no right program can notice
    std::string adapters;        ///< Python for frameworks whose pools tell of their blocks only there
    bool redact = false;         ///< leave out the arguments of processes and kernels
    std::string code;  ///< folder for the machine code of kernels, which `streamsan run` has made; "": none is kept
    std::string code_left_out;  ///< why, where that was chosen
    int root_pid = 0;           ///< of the first process (the one that `streamsan run` started)
    std::string omissions;      ///< file to which what cannot be recorded is appended, one line each (key `said`)
};

/// Reads `key=value` lines, with `\\` for a backslash and `\n` for the end of a line in a value. What is not understood
/// is passed over: the environment is anyone's.
Settings parse_settings(std::string_view text);

}  // namespace streamsan::recorder
