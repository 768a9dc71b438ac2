// Functions of the program's own CPython, of its stable ABI: found by name where the program runs. Neither its headers
// nor its library are needed here.
#pragma once
#include <dlfcn.h>

#include <cstdint>

namespace streamsan::recorder::python {

struct Object;
using Size = std::intptr_t;

/// A function that gets positional values first, then those that `names` (a tuple, or null) has the names of.
using Vectorcall = Object* (*)(Object* self, Object* const* values, Size positional, Object* names);
constexpr int takes_vectorcall = 0x80 | 0x02;  ///< METH_FASTCALL | METH_KEYWORDS, since 3.7

/// PyMethodDef. It must outlive the functions that are made of it.
struct Method {
    const char* name;
    Vectorcall function;
    int flags;
    const char* documentation;
};

/// A function of the program's by its name, null where there is none.
template <class Function>
Function* in_program(const char* name) {
    return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

/// What functions that Python calls need. The interpreter's lock must be held. An object that is returned is the
/// caller's to drop, but for `tuple_item`'s.
struct Interpreter {
    Object* none = nullptr;
    void (*keep)(Object*) = nullptr;
    void (*drop)(Object*) = nullptr;
    Size (*tuple_size)(Object*) = nullptr;
    Object* (*tuple_item)(Object*, Size) = nullptr;
    unsigned long long (*number)(Object*) = nullptr;  ///< all bits set, and an exception, where it is none
    int (*compared_text)(Object*, Object*) = nullptr;
    Object* (*attribute)(Object*, Object*) = nullptr;
    Object* (*called)(Object*, Object*) = nullptr;
    Object* (*interned)(const char*) = nullptr;
    Object* (*function)(Method*, Object* self, Object* module) = nullptr;
    Object* (*built)(const char*, ...) = nullptr;
    Object* (*exception)() = nullptr;
    void (*forget_exception)() = nullptr;

    /// Returns whether the program has them all.
    bool find() {
        none = in_program<Object>("_Py_NoneStruct");
        bool all = none != nullptr;
        const auto look = [&all]<class Function>(Function*& place, const char* name) {
            place = in_program<Function>(name);
            all = all && place != nullptr;
        };
        look(keep, "Py_IncRef");
        look(drop, "Py_DecRef");
        look(tuple_size, "PyTuple_Size");
        look(tuple_item, "PyTuple_GetItem");
        look(number, "PyLong_AsUnsignedLongLong");
        look(compared_text, "PyUnicode_Compare");
        look(attribute, "PyObject_GetAttr");
        look(called, "PyObject_CallObject");
        look(interned, "PyUnicode_InternFromString");
        look(function, "PyCFunction_NewEx");
        look(built, "Py_BuildValue");
        look(exception, "PyErr_Occurred");
        look(forget_exception, "PyErr_Clear");
        return all;
    }
};

}  // namespace streamsan::recorder::python
