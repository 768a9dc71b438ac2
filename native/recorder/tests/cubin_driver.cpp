// Prints the kernels of an image that copy tensors, a line each: `cubin_driver FILE`.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <vector>

#include "recorder/cuda/cubin.hpp"

int main(int count, char** arguments) {
    if (count != 2) return 2;
    std::ifstream file(arguments[1], std::ios::binary);
    const std::vector<unsigned char> image(std::istreambuf_iterator<char>(file), {});
    const auto print = [](std::string_view name) {
        std::printf("[%.*s]\n", static_cast<int>(name.size()), name.data());
    };
    return streamsan::recorder::cuda::tensor_copiers_in_cubin(image, print) ? 0 : 1;
}
