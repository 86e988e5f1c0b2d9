#include "daemon/cli/plan.hpp"
#include "daemon/read/safetensors.hpp"
#include "estimator/architecture.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <unordered_map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headwater::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t length_bytes = 8;

/// The length field and the header behind it, no weight.
Result<std::string> read_head(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes(length_bytes, '\0');
  if (!file.read(bytes.data(), length_bytes)) {
    return fail(Errc::malformed, "is shorter than a header's length field");
  }
  std::uint64_t length = 0;
  for (std::size_t i = length_bytes; i-- > 0;) {
    length = length << 8U | static_cast<unsigned char>(bytes[i]);
  }
  if (length > static_cast<std::uint64_t>(read::safetensors_max_header)) {
    return fail(Errc::too_large, fmt::format("claims a header of {} bytes", length));
  }
  bytes.resize(length_bytes + static_cast<std::size_t>(length));
  if (!file.read(bytes.data() + length_bytes, static_cast<std::streamsize>(length))) {
    return fail(Errc::malformed, fmt::format("ends inside its header of {} bytes", length));
  }
  return bytes;
}

Result<std::vector<fs::path>> weight_files(const std::string &folder) {
  std::error_code failed;
  std::vector<fs::path> paths;
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    if (entry->path().extension() == ".safetensors")
      paths.push_back(entry->path());
  }
  if (failed)
    return fail(Errc::bad_input, fmt::format("{}: {}", folder, failed.message()));
  if (paths.empty()) {
    return fail(Errc::bad_input, fmt::format("{}: no .safetensors file in it", folder));
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

} // namespace

Result<Reconciliation> reconcile(const Json &config, const std::string &folder) {
  const Result<std::vector<fs::path>> paths = weight_files(folder);
  if (!paths)
    return std::unexpected(paths.error());
  Result<estimator::Architecture> architecture = estimator::derive(config);
  if (!architecture)
    return std::unexpected(architecture.error());
  const bool known = architecture->reading != estimator::Reading::unknown;

  std::unordered_map<std::string, std::vector<std::int64_t>> stored;
  Reconciliation result;
  for (const fs::path &path : *paths) {
    Result<std::string> bytes = read_head(path);
    if (!bytes)
      return wrap(path.filename().string(), std::move(bytes.error()));
    Result<read::SafetensorsHeader> header = read::read_safetensors_header(*bytes);
    if (!header)
      return wrap(path.filename().string(), std::move(header.error()));
    ++result.files;
    for (read::StoredTensor &tensor : header->tensors) {
      result.stored_scalars += tensor.elements();
      ++result.stored_tensors;
      stored.insert_or_assign(std::move(tensor.name), std::move(tensor.shape));
    }
  }
  if (!known)
    return result;

  Result<std::vector<estimator::Tensor>> built = estimator::expand(architecture->tensors);
  if (!built)
    return std::unexpected(built.error());
  for (estimator::Tensor &tensor : *built) {
    const auto found = stored.find(tensor.name);
    const bool optional = tensor.kind == estimator::TensorKind::buffer || !tensor.tied_to.empty();
    if (found == stored.end()) {
      if (!optional)
        result.missing.push_back(std::move(tensor.name));
      continue;
    }
    if (found->second == tensor.shape) {
      ++result.equal;
    } else {
      result.other_shape.push_back({tensor.name, tensor.shape, found->second});
    }
    stored.erase(found);
  }
  for (const auto &[name, shape] : stored)
    result.extra.push_back(name);
  std::sort(result.extra.begin(), result.extra.end());
  return result;
}

OrderedJson to_json(const Reconciliation &reconciliation) {
  OrderedJson shapes = OrderedJson::array();
  for (const Reconciliation::OtherShape &other : reconciliation.other_shape) {
    shapes.push_back({{"name", other.name}, {"derived", other.derived}, {"stored", other.stored}});
  }
  return {{"files", reconciliation.files},
          {"stored_tensors", reconciliation.stored_tensors},
          {"stored_scalars", reconciliation.stored_scalars},
          {"equal", reconciliation.equal},
          {"missing", reconciliation.missing},
          {"extra", reconciliation.extra},
          {"other_shape", std::move(shapes)},
          {"agrees", reconciliation.agrees()}};
}

} // namespace headwater::cli
