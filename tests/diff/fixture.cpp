#include "tests/diff/fixture.hpp"

#include "daemon/read/safetensors.hpp"
#include "daemon/read/wanted.hpp"
#include "schemas/digest.hpp"
#include "tests/folders.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <nlohmann/json.hpp>
#include <zlib.h>

namespace headwater::diff::test {
namespace {

void insert(Snapshot &snapshot, FileEntry entry) {
  snapshot.files.insert(std::ranges::lower_bound(snapshot.files, entry.path, {}, &FileEntry::path),
                        std::move(entry));
}

void put_tensors(Snapshot &snapshot, const std::string &path, const Json &tensors) {
  std::vector<std::tuple<std::string, std::string, std::vector<std::int64_t>>> rows;
  std::string seed = "0";
  for (const auto &[name, value] : tensors.items()) {
    if (name == "seed")
      seed = value.dump();
    else
      rows.emplace_back(name, value[0].get<std::string>(),
                        value[1].get<std::vector<std::int64_t>>());
  }
  auto [header, size] = safetensors_header(rows);
  FileEntry entry;
  entry.path = path;
  entry.size = size;
  entry.sha256 = sha256_hex(header + seed);
  entry.oid = git_blob_id(entry.sha256);
  snapshot.contents[path] = FileContent{
      FilePart::safetensors_header, std::make_shared<const std::string>(std::move(header)), {}};
  insert(snapshot, std::move(entry));
}

void put_digest(Snapshot &snapshot, const std::string &path, const Json &file) {
  FileEntry entry;
  entry.path = path;
  entry.size = file.at("size").get<std::int64_t>();
  entry.sha256 = sha256_hex(file.at("id").get<std::string>());
  entry.oid = git_blob_id(entry.sha256);
  insert(snapshot, std::move(entry));
}

} // namespace

void put_file(Snapshot &snapshot, const std::string &path, const std::string &bytes) {
  FileEntry entry;
  entry.path = path;
  entry.size = static_cast<std::int64_t>(bytes.size());
  entry.oid = git_blob_id(bytes);
  const FilePart part = read::wanted_part(entry);
  if (part != FilePart::none)
    snapshot.contents[path] = FileContent{part, std::make_shared<const std::string>(bytes), {}};
  insert(snapshot, std::move(entry));
}

Snapshot snapshot_of(const std::map<std::string, std::string> &files) {
  Snapshot snapshot;
  snapshot.facts.name = "acme/model";
  snapshot.commit.sha = std::string(40, 'a');
  for (const auto &[path, bytes] : files)
    put_file(snapshot, path, bytes);
  return snapshot;
}

Snapshot snapshot_from(const Json &description) {
  Snapshot snapshot = snapshot_of({});
  for (const auto &[path, file] : description.items()) {
    if (file.is_string())
      put_file(snapshot, path, file.get<std::string>());
    else if (file.is_object() && file.contains("$tensors"))
      put_tensors(snapshot, path, file["$tensors"]);
    else if (file.is_object() && file.contains("$file"))
      put_digest(snapshot, path, file["$file"]);
    else if (path == "$referenced")
      for (const auto &[name, files] : file.items()) {
        ReferencedRepo repo;
        repo.name = name;
        repo.head = sha1_hex(files.dump());
        for (const auto &[code, text] : files.items()) {
          FileEntry entry;
          entry.path = code;
          entry.oid = git_blob_id(text.get<std::string>());
          repo.files.push_back(std::move(entry));
        }
        snapshot.referenced.push_back(std::move(repo));
      }
    else
      put_file(snapshot, path, file.dump(2));
  }
  return snapshot;
}

std::pair<std::string, std::int64_t> safetensors_header(
    const std::vector<std::tuple<std::string, std::string, std::vector<std::int64_t>>> &tensors) {
  OrderedJson header = OrderedJson::object();
  header["__metadata__"]["format"] = "pt";
  std::int64_t at = 0;
  for (const auto &[name, dtype, shape] : tensors) {
    std::int64_t size = read::safetensors_dtype_bits(dtype) / 8;
    for (const std::int64_t dimension : shape)
      size *= dimension;
    header[name] = {{"dtype", dtype}, {"shape", shape}, {"data_offsets", {at, at + size}}};
    at += size;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::string bytes;
  for (unsigned i = 0; i < 8; ++i)
    bytes += static_cast<char>(text.size() >> (8 * i) & 0xFFU);
  bytes += text;
  const std::int64_t size = static_cast<std::int64_t>(bytes.size()) + at;
  return {std::move(bytes), size};
}

std::string shared_folder() {
  return headwater::test::shared_path("corpus") ? headwater::test::shared_folder()->string()
                                                : std::string();
}

std::string read_file(const std::string &path) {
  if (path.ends_with(".gz")) {
    gzFile file = gzopen(path.c_str(), "rb");
    std::string text;
    std::array<char, 65536> piece{};
    for (int n = 0; file != nullptr &&
                    (n = gzread(file, piece.data(), static_cast<unsigned>(piece.size()))) > 0;)
      text.append(piece.data(), static_cast<std::size_t>(n));
    gzclose(file);
    return text;
  }
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

} // namespace headwater::diff::test
