// How the recorder opens files: what it writes is for the user alone, and never goes where a link leads.
#pragma once
#include <string>

namespace streamsan::recorder {

/// Makes a file that was not there, for reading and writing, readable by its owner alone. What is there already is
/// never opened, a link never followed; a regular file of our own with one name, which a process of the same id left,
/// gives way. Returns the descriptor, or -1 with errno.
int make_private_file(const std::string& path);

/// Opens a file that several processes write with these further flags (O_APPEND), or makes it as above. What is no
/// regular file, or is somebody else's, is refused with EPERM. Returns the descriptor, or -1 with errno.
int open_shared_file(const std::string& path, int flags);

}  // namespace streamsan::recorder
