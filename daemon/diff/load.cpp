#include "daemon/diff/load.hpp"

#include "daemon/read/gguf.hpp"
#include "daemon/read/safetensors.hpp"
#include "daemon/read/wanted.hpp"
#include "schemas/digest.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <openssl/evp.h>

namespace headwater::diff {
namespace {

namespace fs = std::filesystem;
using read::FileRole;

constexpr std::size_t most_files = 100'000;
/// The hub keeps larger files by their SHA-256 (git-lfs), so a folder is described the same way.
constexpr std::int64_t lfs_from = 10 << 20;
constexpr std::string_view pointer_start = "version https://git-lfs.github.com/spec/v1\n";

using DigestContext = std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)>;

/// Hex digest of `head` and a file's bytes, read in pieces.
Result<std::string> streamed_digest(const fs::path &path, const EVP_MD *algorithm,
                                    std::string_view head) {
  std::ifstream file(path, std::ios::binary);
  const DigestContext context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  if (!file || !context || EVP_DigestInit_ex(context.get(), algorithm, nullptr) != 1)
    return fail(Errc::store, fmt::format("{} cannot be read", path.string()));
  EVP_DigestUpdate(context.get(), head.data(), head.size());
  std::string piece(1U << 20U, '\0');
  while (file.read(piece.data(), static_cast<std::streamsize>(piece.size())) || file.gcount() > 0)
    EVP_DigestUpdate(context.get(), piece.data(), static_cast<std::size_t>(file.gcount()));
  if (file.bad())
    return fail(Errc::store, fmt::format("{} cannot be read to its end", path.string()));
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  EVP_DigestFinal_ex(context.get(), digest.data(), &size);
  std::string hex;
  for (unsigned int i = 0; i < size; ++i)
    hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

std::string read_bytes(const fs::path &path, std::int64_t count) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes(static_cast<std::size_t>(count), '\0');
  file.read(bytes.data(), count);
  bytes.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  return bytes;
}

struct Pointer {
  std::string sha256;
  std::int64_t size = 0;
};

std::optional<Pointer> pointer_of(std::string_view text) {
  if (!text.starts_with(pointer_start))
    return std::nullopt;
  const std::size_t oid = text.find("\noid sha256:");
  const std::size_t size = text.find("\nsize ");
  if (oid == std::string_view::npos || size == std::string_view::npos ||
      text.size() < oid + 12 + 64)
    return std::nullopt;
  Pointer pointer;
  pointer.sha256 = text.substr(oid + 12, 64);
  const std::string_view number = text.substr(size + 6);
  std::from_chars(number.data(), number.data() + number.size(), pointer.size);
  return pointer;
}

std::string pointer_text(const std::string &sha256, std::int64_t size) {
  return fmt::format("{}oid sha256:{}\nsize {}\n", pointer_start, sha256, size);
}

std::string safetensors_part(const fs::path &path, std::int64_t size) {
  std::string bytes = read_bytes(path, std::min<std::int64_t>(8, size));
  if (bytes.size() < 8)
    return bytes;
  std::uint64_t length = 0;
  for (std::size_t i = 8; i-- > 0;)
    length = length << 8U | static_cast<unsigned char>(bytes[i]);
  if (length > static_cast<std::uint64_t>(read::safetensors_max_header))
    return bytes;
  return read_bytes(path, std::min(size, static_cast<std::int64_t>(length) + 8));
}

std::string gguf_part(const fs::path &path, std::int64_t size) {
  for (std::int64_t count = 1 << 20;; count *= 4) {
    std::string bytes = read_bytes(path, std::min(count, size));
    const Result<std::optional<std::int64_t>> header = read::gguf_header_size(bytes);
    if (header && *header) {
      bytes.resize(std::min(bytes.size(), static_cast<std::size_t>(**header)));
      return bytes;
    }
    if (!header || count >= size || count >= read::gguf_max_header)
      return bytes;
  }
}

class Loader {
public:
  explicit Loader(fs::path root) : root_(std::move(root)) {}

  Result<Snapshot> run() {
    snapshot_.facts.name = root_.filename().empty() ? root_.parent_path().filename().string()
                                                    : root_.filename().string();
    std::error_code error;
    fs::recursive_directory_iterator at(root_, error);
    if (error)
      return fail(Errc::bad_input, fmt::format("{} cannot be read as a folder: {}", root_.string(),
                                               error.message()));
    for (; at != fs::recursive_directory_iterator(); at.increment(error)) {
      if (error)
        return fail(Errc::store, fmt::format("{}: {}", root_.string(), error.message()));
      if (at->path().filename() == ".git" || at->path().filename() == ".cache") {
        at.disable_recursion_pending();
        continue;
      }
      if (!at->is_regular_file(error))
        continue;
      if (snapshot_.files.size() >= most_files)
        return fail(Errc::too_large,
                    fmt::format("{} has more than {} files", root_.string(), most_files));
      if (Result<void> done = add(at->path()); !done)
        return std::unexpected(std::move(done.error()));
    }
    std::ranges::sort(snapshot_.files, {}, &FileEntry::path);
    return std::move(snapshot_);
  }

private:
  Result<void> add(const fs::path &path) {
    std::error_code error;
    FileEntry entry;
    entry.path = path.lexically_relative(root_).generic_string();
    entry.size = static_cast<std::int64_t>(fs::file_size(path, error));
    if (error)
      return fail(Errc::store, fmt::format("{}: {}", path.string(), error.message()));
    if (entry.size < 1024) {
      const std::string text = read_bytes(path, entry.size);
      if (const std::optional<Pointer> pointer = pointer_of(text)) {
        entry.oid = git_blob_id(text);
        entry.sha256 = pointer->sha256;
        entry.size = pointer->size;
        const FilePart part = read::wanted_part(entry);
        if (part != FilePart::none)
          snapshot_.contents[entry.path] = FileContent{
              part, nullptr, "only its git-lfs pointer is here; git lfs pull brings the file"};
        snapshot_.files.push_back(std::move(entry));
        return {};
      }
    }
    const FileRole role = read::role_of(entry.path);
    const FilePart part = read::wanted_part(entry);
    const bool weights = role == FileRole::safetensors || role == FileRole::gguf ||
                         role == FileRole::pickle || role == FileRole::side_weights;
    std::shared_ptr<const std::string> bytes;
    if (part == FilePart::whole)
      bytes = std::make_shared<const std::string>(read_bytes(path, entry.size));
    else if (part == FilePart::safetensors_header)
      bytes = std::make_shared<const std::string>(safetensors_part(path, entry.size));
    else if (part == FilePart::gguf_header)
      bytes = std::make_shared<const std::string>(gguf_part(path, entry.size));
    if (weights || entry.size >= lfs_from) {
      Result<std::string> digest = part == FilePart::whole
                                       ? Result<std::string>(sha256_hex(*bytes))
                                       : streamed_digest(path, EVP_sha256(), "");
      if (!digest)
        return std::unexpected(std::move(digest.error()));
      entry.sha256 = std::move(*digest);
      entry.oid = git_blob_id(pointer_text(entry.sha256, entry.size));
    } else if (bytes) {
      entry.oid = git_blob_id(*bytes);
    } else {
      Result<std::string> digest = streamed_digest(
          path, EVP_sha1(), "blob " + std::to_string(entry.size) + std::string(1, '\0'));
      if (!digest)
        return std::unexpected(std::move(digest.error()));
      entry.oid = std::move(*digest);
    }
    if (bytes)
      snapshot_.contents[entry.path] = FileContent{part, std::move(bytes), {}};
    snapshot_.files.push_back(std::move(entry));
    return {};
  }

  fs::path root_;
  Snapshot snapshot_;
};

} // namespace

Result<Snapshot> load_folder(const std::string &folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error))
    return fail(Errc::bad_input, fmt::format("{} is not a folder", folder));
  return Loader(fs::path(folder)).run();
}

} // namespace headwater::diff
