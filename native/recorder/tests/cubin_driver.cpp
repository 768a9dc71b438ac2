// Prints the kernels of an image that copy tensors, a line each: `cubin_driver FILE`. `cubin_driver FILE FUNCTION`
// prints whether it calls this function of the driver's; `cubin_driver FILE variables of` its variables.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <vector>

#include "recorder/cuda/cubin.hpp"

int main(int count, char** arguments) {
    if (count < 2 || count > 4) return 2;
    std::ifstream file(arguments[1], std::ios::binary);
    const std::vector<unsigned char> image(std::istreambuf_iterator<char>(file), {});
    if (count == 3) {
        std::puts(streamsan::recorder::cuda::calls_of_driver(image, arguments[2]) ? "yes" : "no");
        return 0;
    }
    const auto print = [](std::string_view name) {
        std::printf("[%.*s]\n", static_cast<int>(name.size()), name.data());
    };
    if (count == 4) return streamsan::recorder::cuda::variables_in_cubin(image, print) ? 0 : 1;
    return streamsan::recorder::cuda::tensor_copiers_in_cubin(image, print) ? 0 : 1;
}
