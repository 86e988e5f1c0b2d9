#pragma once

#include "schemas/json.hpp"
#include "schemas/snapshot.hpp"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace headwater::diff::test {

/// Puts a file into a snapshot as the tracker would: its entry, and what is read of it.
void put_file(Snapshot &snapshot, const std::string &path, const std::string &bytes);

/// A snapshot of texts by path.
Snapshot snapshot_of(const std::map<std::string, std::string> &files);

/// A snapshot as tests/data/diff describes it. A file is a text, a JSON document, or an object with
/// one key:
/// {"$tensors": {"seed": N, "NAME": [DTYPE, [SHAPE]]}} (a safetensors file), {"$file": {"size": N,
/// "id": TEXT}} (known by digest alone).
Snapshot snapshot_from(const Json &description);

/// A safetensors header over the given tensors, 8-byte length included, and the size of the whole
/// file.
std::pair<std::string, std::int64_t> safetensors_header(
    const std::vector<std::tuple<std::string, std::string, std::vector<std::int64_t>>> &tensors);

/// The shared material's folder, "" where there is none.
std::string shared_folder();

/// A whole file; a .gz is unpacked.
std::string read_file(const std::string &path);

} // namespace headwater::diff::test
