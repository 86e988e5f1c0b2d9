#include "schemas/snapshot.hpp"

#include <algorithm>

namespace headwater {

const FileEntry *find_file(const Snapshot &snapshot, std::string_view path) {
  const auto at = std::ranges::lower_bound(
      snapshot.files, path, {}, [](const FileEntry &file) { return std::string_view(file.path); });
  return at != snapshot.files.end() && at->path == path ? &*at : nullptr;
}

const std::string *find_text(const Snapshot &snapshot, std::string_view path) {
  const auto at = snapshot.contents.find(std::string(path));
  if (at == snapshot.contents.end() || at->second.part != FilePart::whole)
    return nullptr;
  return at->second.bytes.get();
}

} // namespace headwater
