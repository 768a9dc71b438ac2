"""Names whose calls neither keep nor change a pointer or handle: output, text, mathematics, time, assertions."""

from __future__ import annotations

from streamsan.cuda_source.interpreter.library import constants, harmless

harmless(
    # stdio and friends
    "printf", "fprintf", "sprintf", "snprintf", "vprintf", "vfprintf", "puts", "putchar", "fputs", "fputc", "perror",
    "fflush", "fopen", "fclose", "fseek", "ftell", "rewind", "feof", "ferror", "getchar", "remove", "setbuf", "setvbuf",
    "strerror", "strlen", "strcmp", "strncmp", "strcasecmp", "strstr", "strchr", "strrchr", "getenv", "setenv", "atoi",
    "atof", "atol", "atoll", "strtol", "strtoul", "strtod", "strtoull", "rand", "srand", "random", "drand48", "time",
    "clock", "gettimeofday", "clock_gettime", "usleep", "sleep", "nanosleep", "sched_yield", "getpid", "getppid",
    "isatty",
    "assert", "static_assert", "abs", "labs", "fabs", "fabsf", "sqrt", "sqrtf", "pow", "powf", "exp", "expf", "log",
    "logf",
    "log2", "log2f", "log10", "sin", "sinf", "cos", "cosf", "tan", "tanf", "tanh", "tanhf", "atan", "atan2", "ceil",
    "ceilf",
    "floor", "floorf", "round", "roundf", "fmod", "fmin", "fmax", "fminf", "fmaxf", "isnan", "isinf", "isfinite",
    "hypot",
    "lround", "llround", "cbrt", "erf", "toupper", "tolower", "isdigit", "isspace", "isalpha", "__builtin_expect",
    "tgamma",
    # iostream, string, chrono
    "cout", "cerr", "clog", "cin", "endl", "flush", "setprecision", "setw", "setfill", "fixed", "scientific", "hex",
    "dec",
    "boolalpha", "left", "right", "to_string", "stoi", "stol", "stoul", "stoull", "stof", "stod", "string",
    "string_view",
    "stringstream", "ostringstream", "istringstream", "ifstream", "ofstream", "fstream", "ostream", "istream",
    "getline",
    "format", "print", "println", "c_str", "str", "what", "runtime_error", "logic_error", "invalid_argument",
    "exception",
    "out_of_range", "bad_alloc", "system_error", "is_open", "close", "good", "eof", "fail", "put", "get_id",
    "hardware_concurrency", "sleep_for", "sleep_until", "yield", "duration_cast", "now", "time_since_epoch",
    "milliseconds",
    "microseconds", "nanoseconds", "seconds", "duration", "time_point", "high_resolution_clock", "steady_clock",
    "system_clock", "mt19937", "mt19937_64", "random_device", "uniform_real_distribution", "uniform_int_distribution",
    "normal_distribution", "default_random_engine", "minstd_rand", "locale", "ios_base", "numeric_limits", "hash",
    "numeric_limits::max", "numeric_limits::min", "this_thread", "type_info", "setstate", "precision", "width",
    # types of numbers and of CUDA's vectors
    "dim3", "make_float2", "make_float3", "make_float4", "make_int2", "make_int3", "make_int4", "make_double2",
    "make_uint3",
    "make_uint2", "make_uint4", "make_cuComplex", "make_cuFloatComplex", "make_cuDoubleComplex", "make_half2",
    "__float2half", "__half2float", "__float2bfloat16", "__bfloat162float", "complex", "__popc", "cuda_fp16",
    "is_same", "is_same_v", "decay_t", "enable_if_t", "conditional_t", "size", "ssize", "nullopt",
    "nvtxRangePushA", "nvtxRangePush", "nvtxRangePop", "nvtxMarkA", "nvtxRangeStartA", "nvtxRangeEnd",
    "__syncthreads", "atomicAdd", "strcpy", "strncpy", "strcat", "strncat", "strncasecmp", "strdup", "srand48",
    "lrand48",
    "isnormal", "basename", "dirname", "chdir", "mkdir", "access", "unlink", "stat", "open", "lseek", "ioctl",
    prefixes=("omp_", "std::chrono::", "chrono::", "std::this_thread::", "std::ios", "std::numeric_limits", "std::is_",
              "nvtx",
              'operator""', "std::filesystem", "CUDART_"),
)  # fmt: skip

_MATHEMATICS = (
    "abs", "fabs", "sqrt", "cbrt", "rsqrt", "pow", "exp", "exp2", "exp10", "expm1", "log", "log2", "log10", "log1p",
    "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "ceil",
    "floor", "round", "trunc", "rint", "nearbyint", "fmod", "remainder", "fmin", "fmax", "fdim", "fma", "hypot",
    "erf", "erfc", "tgamma", "lgamma", "copysign", "ldexp", "scalbn", "ilogb", "logb", "lround", "llround", "lrint",
    "llrint", "nextafter", "signbit", "isnan", "isinf", "isfinite", "isnormal", "sincos", "sinpi", "cospi",
    "normcdf",
)  # fmt: skip
harmless(*(f"{name}{suffix}" for name in _MATHEMATICS for suffix in ("", "f", "l")))
harmless(
    "count", "typeid", "name", "llabs", "div", "ldiv", "labs", "clamp", "gcd", "lcm", "midpoint", "lerp", "bit_cast",
    "popcount",
    "norm", "real", "imag", "arg", "conj", "polar", "swab", "va_start", "va_end", "va_arg", "va_copy", "vsnprintf",
    "vsprintf",
    "srandom", "random_r", "rand_r", "erand48", "nrand48", "mrand48", "seed48", "difftime", "mktime", "localtime",
    "gmtime",
    "strftime", "ctime", "asctime", "times", "getrusage", "sysconf", "gethostname", "getcwd", "mkstemp", "fileno",
    "fsync",
    "ftruncate", "fstat", "opendir", "closedir", "readdir", "rmdir", "freopen", "tmpfile", "fgetc", "getc", "ungetc",
    "putc",
    "clearerr", "signal", "raise", "alarm", "pause", "sigemptyset", "sigaddset", "getuid", "syscall", "dlclose",
    "dlerror",
    "QueryPerformanceCounter", "QueryPerformanceFrequency", "Sleep", "GetTickCount", "_putenv", "putenv", "unsetenv",
    "isalnum", "isupper", "islower", "ispunct", "isxdigit", "isprint", "htonl", "ntohl", "htons", "ntohs",
    "sched_setaffinity",
    "pthread_self", "pthread_attr_init", "pthread_attr_destroy", "pthread_setaffinity_np", "sched_getcpu",
    "numa_node_of_cpu",
    "stoi", "stol", "stoll", "stoul", "stoull", "stof", "stod", "declval", "make_error_code", "current_path", "exists",
    "file_size", "current_exception", "uncaught_exceptions", "set_terminate", "ignore", "tellg", "seekg", "tellp",
    "seekp",
    "rdbuf", "sync_with_stdio", "imbue", "unsetf", "setf", "seed", "__builtin_unreachable", "__builtin_trap",
    "__builtin_assume_aligned", "__assume", "_mm_pause", "backtrace", "timeval", "timespec", "tm", "timezone",
    "FILE", "stat", "sigaction", "sigset_t", "pthread_attr_t", "rusage",
    "struct timeval", "struct timespec", "struct stat", "struct option", "option", "cpu_set_t", "LARGE_INTEGER",
    "dirent",
    "div_t", "clock_t", "time_t", "va_list", "jmp_buf", "utsname", "sockaddr_in", "isOpen", "get_future_status",
    "sdkCreateTimer", "sdkDeleteTimer", "sdkStartTimer", "sdkStopTimer", "sdkResetTimer", "sdkGetTimerValue",
    "sdkGetAverageTimerValue", "checkCmdLineFlag", "getCmdLineArgumentInt", "getCmdLineArgumentFloat",
    "sdkFindFilePath",
    "cublasGetStatusString", "cusparseGetErrorString", "cufftGetErrorString", "_cudaGetErrorEnum",
    prefixes=("std::filesystem", "fs::",
              "boost::", "spdlog::", "fmt::", "absl::", "std::numbers", "std::ratio",
              "MPI_", "nccl", "nvml", "nvrtc", "GLFW", "GLu", "GLe"),
)  # fmt: skip

constants(
    {
        "__FILE__": "file", "__func__": "function", "__FUNCTION__": "function", "__PRETTY_FUNCTION__": "function",
        "__cplusplus": 201703, "EXIT_SUCCESS": 0, "EXIT_FAILURE": 1, "RAND_MAX": 2147483647, "INT_MAX": 2147483647,
        "INT_MIN": -2147483648,
        "UINT_MAX": 4294967295, "SIZE_MAX": (1 << 64) - 1, "nullptr": 0, "NULL": 0, "true": 1, "false": 0,
        "INT64_MAX": (1 << 63) - 1, "UINT64_MAX": (1 << 64) - 1, "UINT32_MAX": 4294967295, "npos": (1 << 64) - 1,
        "M_PI": 3.141592653589793, "FLT_MAX": 3.4028234663852886e38, "DBL_MAX": 1.7976931348623157e308,
        "FLT_EPSILON": 1.1920929e-07, "CHAR_BIT": 8, "EOF": -1, "PTHREAD_CREATE_JOINABLE": 0,
    }
)  # fmt: skip
