#include "store/rows.hpp"

#include "schemas/digest.hpp"

#include <array>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <zstd.h>

namespace headwater::store {
namespace {

constexpr std::size_t largest_text = 256U << 20U;

constexpr std::array part_words{
    std::pair{FilePart::none, std::string_view("none")},
    std::pair{FilePart::whole, std::string_view("whole")},
    std::pair{FilePart::safetensors_header, std::string_view("safetensors-header")},
    std::pair{FilePart::gguf_header, std::string_view("gguf-header")}};
constexpr std::array state_words{std::pair{RepoState::pending, std::string_view("pending")},
                                 std::pair{RepoState::ok, std::string_view("ok")},
                                 std::pair{RepoState::gated, std::string_view("gated")},
                                 std::pair{RepoState::gone, std::string_view("gone")},
                                 std::pair{RepoState::disabled, std::string_view("disabled")},
                                 std::pair{RepoState::unreadable, std::string_view("unreadable")},
                                 std::pair{RepoState::waiting, std::string_view("waiting")},
                                 std::pair{RepoState::not_found, std::string_view("not found")}};
constexpr std::array visibility_words{std::pair{Visibility::unseen, std::string_view("unseen")},
                                      std::pair{Visibility::open, std::string_view("open")},
                                      std::pair{Visibility::closed, std::string_view("closed")},
                                      std::pair{Visibility::lost, std::string_view("lost")}};
constexpr std::array status_words{
    std::pair{RevisionStatus::read, std::string_view("read")},
    std::pair{RevisionStatus::unreadable, std::string_view("unreadable")},
    std::pair{RevisionStatus::quarantined, std::string_view("quarantined")}};

template <class T, std::size_t N>
std::string_view word_of(const std::array<std::pair<T, std::string_view>, N> &words, T value) {
  for (const auto &[candidate, word] : words)
    if (candidate == value)
      return word;
  return {};
}

template <class T, std::size_t N>
T value_of(const std::array<std::pair<T, std::string_view>, N> &words, std::string_view word,
           T otherwise) {
  for (const auto &[value, candidate] : words)
    if (candidate == word)
      return value;
  return otherwise;
}

std::string text_at(const Json &json, const char *key) {
  const auto at = json.find(key);
  return at != json.end() && at->is_string() ? at->get<std::string>() : std::string();
}

bool flag_at(const Json &json, const char *key) {
  const auto at = json.find(key);
  return at != json.end() && at->is_boolean() && at->get<bool>();
}

Json to_json(const FileEntry &file) {
  Json json = {{"path", file.path}, {"oid", file.oid}, {"size", file.size}};
  if (!file.sha256.empty())
    json["sha256"] = file.sha256;
  return json;
}

FileEntry file_from(const Json &json) {
  FileEntry file;
  file.path = text_at(json, "path");
  file.oid = text_at(json, "oid");
  if (const auto at = json.find("size"); at != json.end() && at->is_number_integer())
    file.size = at->get<std::int64_t>();
  file.sha256 = text_at(json, "sha256");
  return file;
}

Json to_json(const RepoFacts &facts) {
  return {{"name", facts.name},
          {"identity", facts.identity},
          {"head", facts.head},
          {"private", facts.is_private},
          {"disabled", facts.disabled},
          {"gated", headwater::to_string(facts.gate)},
          {"tags", facts.tags},
          {"library_name", facts.library_name},
          {"pipeline_tag", facts.pipeline_tag},
          {"created_at", facts.created_at},
          {"last_modified", facts.last_modified},
          {"safetensors", facts.safetensors_json}};
}

Result<RepoFacts> facts_from(const Json &json) {
  if (!json.is_object())
    return fail(Errc::malformed, "the facts are no JSON object");
  RepoFacts facts;
  facts.name = text_at(json, "name");
  facts.identity = text_at(json, "identity");
  facts.head = text_at(json, "head");
  facts.is_private = flag_at(json, "private");
  facts.disabled = flag_at(json, "disabled");
  const std::string gate = text_at(json, "gated");
  facts.gate = gate == "auto" ? Gate::automatic : gate == "manual" ? Gate::manual : Gate::open;
  if (const auto at = json.find("tags"); at != json.end() && at->is_array())
    for (const Json &tag : *at)
      if (tag.is_string())
        facts.tags.push_back(tag.get<std::string>());
  facts.library_name = text_at(json, "library_name");
  facts.pipeline_tag = text_at(json, "pipeline_tag");
  facts.created_at = text_at(json, "created_at");
  facts.last_modified = text_at(json, "last_modified");
  facts.safetensors_json = text_at(json, "safetensors");
  return facts;
}

std::string dump(const Json &json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

} // namespace

std::string_view to_string(FilePart part) {
  return word_of(part_words, part);
}
FilePart part_from(std::string_view word) {
  return value_of(part_words, word, FilePart::none);
}
std::string_view to_string(RepoState state) {
  return word_of(state_words, state);
}
RepoState repo_state_from(std::string_view word) {
  return value_of(state_words, word, RepoState::pending);
}
std::string_view to_string(Visibility visibility) {
  return word_of(visibility_words, visibility);
}
Visibility visibility_from(std::string_view word) {
  return value_of(visibility_words, word, Visibility::closed);
}
std::string_view to_string(RevisionStatus status) {
  return word_of(status_words, status);
}
RevisionStatus revision_status_from(std::string_view word) {
  return value_of(status_words, word, RevisionStatus::unreadable);
}

std::string facts_to_text(const RepoFacts &facts) {
  return dump(to_json(facts));
}

Result<RepoFacts> facts_from_text(std::string_view text) {
  return facts_from(Json::parse(text, nullptr, false));
}

std::string tree_to_text(const Snapshot &snapshot) {
  Json files = Json::array();
  for (const FileEntry &file : snapshot.files) {
    Json json = to_json(file);
    if (const auto content = snapshot.contents.find(file.path);
        content != snapshot.contents.end()) {
      json["part"] = to_string(content->second.part);
      if (!content->second.problem.empty())
        json["problem"] = content->second.problem;
    }
    files.push_back(std::move(json));
  }
  Json referenced = Json::array();
  for (const ReferencedRepo &repo : snapshot.referenced) {
    Json code = Json::array();
    for (const FileEntry &file : repo.files)
      code.push_back(to_json(file));
    referenced.push_back({{"name", repo.name},
                          {"head", repo.head},
                          {"problem", repo.problem},
                          {"files", std::move(code)}});
  }
  return dump({{"facts", to_json(snapshot.facts)},
               {"files", std::move(files)},
               {"referenced", std::move(referenced)}});
}

Result<void> tree_from_text(std::string_view text, Snapshot &snapshot) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("facts") || !json.contains("files"))
    return fail(Errc::malformed, "the tree is no JSON object with facts and files");
  Result<RepoFacts> facts = facts_from(json["facts"]);
  if (!facts)
    return std::unexpected(facts.error());
  snapshot.facts = std::move(*facts);
  if (const auto files = json.find("files"); files != json.end() && files->is_array()) {
    for (const Json &item : *files) {
      FileEntry file = file_from(item);
      if (item.contains("part")) {
        FileContent content;
        content.part = part_from(text_at(item, "part"));
        content.problem = text_at(item, "problem");
        snapshot.contents.emplace(file.path, std::move(content));
      }
      snapshot.files.push_back(std::move(file));
    }
  }
  if (const auto referenced = json.find("referenced");
      referenced != json.end() && referenced->is_array()) {
    for (const Json &item : *referenced) {
      ReferencedRepo repo;
      repo.name = text_at(item, "name");
      repo.head = text_at(item, "head");
      repo.problem = text_at(item, "problem");
      if (const auto code = item.find("files"); code != item.end() && code->is_array())
        for (const Json &file : *code)
          repo.files.push_back(file_from(file));
      snapshot.referenced.push_back(std::move(repo));
    }
  }
  return {};
}

std::unexpected<Error> undecodable(const Database &database, std::string_view table,
                                   std::string_view key, const Error &reason) {
  return fail(Errc::store,
              fmt::format("{}: table {}, row {}: what it holds cannot be read ({}): restore a "
                          "backup (`headwater backup` makes them)",
                          database.path(), table, key, reason.message),
              std::string(damaged));
}

bool is_damage(const Error &error) {
  return error.code == Errc::store && error.cause == damaged;
}

std::string compress(std::string_view bytes) {
  // One context a thread: making one costs more than a small text does.
  static thread_local const std::unique_ptr<ZSTD_CCtx, std::size_t (*)(ZSTD_CCtx *)> context(
      ZSTD_createCCtx(), ZSTD_freeCCtx);
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  const std::size_t size =
      ZSTD_compressCCtx(context.get(), out.data(), out.size(), bytes.data(), bytes.size(), 3);
  out.resize(ZSTD_isError(size) != 0U ? 0 : size);
  return out;
}

Result<std::string> decompress(std::string_view bytes) {
  static thread_local const std::unique_ptr<ZSTD_DCtx, std::size_t (*)(ZSTD_DCtx *)> context(
      ZSTD_createDCtx(), ZSTD_freeDCtx);
  const unsigned long long size = ZSTD_getFrameContentSize(bytes.data(), bytes.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN || size > largest_text)
    return fail(Errc::malformed, "not compressed as it should be");
  std::string out(static_cast<std::size_t>(size), '\0');
  const std::size_t written =
      ZSTD_decompressDCtx(context.get(), out.data(), out.size(), bytes.data(), bytes.size());
  if (ZSTD_isError(written) != 0U || written != size)
    return fail(Errc::malformed, "its compressed bytes are damaged");
  return out;
}

std::string digest_of(std::string_view bytes) {
  const std::string hex = sha256_hex(bytes);
  const auto value = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::string out(hex.size() / 2, '\0');
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<char>(value(hex[2 * i]) * 16 + value(hex[2 * i + 1]));
  return out;
}

} // namespace headwater::store
