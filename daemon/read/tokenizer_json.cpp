#include "daemon/read/tokenizer.hpp"
#include "schemas/json.hpp"
#include "schemas/text.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <simdjson.h>

namespace headwater::read {
namespace {

namespace dom = simdjson::dom;

struct Storage {
  dom::document document;
};

std::string shown(std::string_view text) {
  return "`" + plain_text(text, 60) + "`";
}

std::unexpected<Error> not_json(simdjson::error_code code) {
  return fail(Errc::malformed, fmt::format("not JSON: {}", simdjson::error_message(code)));
}

/// An id as the tokenizers library takes it.
bool read_id(dom::element value, std::int64_t &id) {
  return value.get(id) == simdjson::SUCCESS && id >= 0 &&
         id <= std::numeric_limits<std::uint32_t>::max();
}

/// Puts in what older files leave out, so that a file saved again by a newer library reads the
/// same.
void complete(Json &part) {
  if (part.is_array()) {
    for (Json &item : part)
      complete(item);
    return;
  }
  if (!part.is_object())
    return;
  for (auto &[key, value] : part.items())
    complete(value);
  const auto type = part.find("type");
  if (type == part.end() || !type->is_string())
    return;
  if (*type == "ByteLevel") {
    for (const char *key : {"add_prefix_space", "trim_offsets", "use_regex"})
      if (!part.contains(key))
        part[key] = true;
  } else if (*type == "Metaspace") {
    part.erase("str_rep");
    const bool prefix =
        !part.contains("add_prefix_space") || part["add_prefix_space"] != Json(false);
    if (!part.contains("prepend_scheme"))
      part["prepend_scheme"] = prefix ? "always" : "never";
    part.erase("add_prefix_space");
    if (!part.contains("split"))
      part["split"] = true;
  }
}

/// Canonical text of a part, "" for one that says nothing.
Result<std::string> canonical(dom::element element) {
  if (element.is_null())
    return std::string();
  Result<Json> parsed = parse_json(simdjson::minify(element));
  if (!parsed)
    return std::unexpected(std::move(parsed.error()));
  complete(*parsed);
  return parsed->dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Model options whose absence, null, false and "" mean the same.
bool says_nothing(std::string_view json) {
  return json.empty() || json == "false" || json == "\"\"";
}

Result<void> read_vocabulary(dom::element value, TokenizerFacts &facts) {
  dom::object object;
  dom::array array;
  if (value.get(object) == simdjson::SUCCESS) {
    facts.vocabulary.reserve(object.size());
    for (const auto field : object) {
      std::int64_t id = 0;
      if (!read_id(field.value, id))
        return fail(Errc::malformed, fmt::format("model.vocab {} has no id", shown(field.key)));
      facts.vocabulary.push_back({field.key, id});
    }
    return {};
  }
  if (value.get(array) != simdjson::SUCCESS)
    return fail(Errc::malformed, "model.vocab is neither object nor list");
  facts.vocabulary.reserve(array.size());
  for (const dom::element row : array) {
    dom::array pair;
    std::string_view text;
    double score = 0;
    if (row.get(pair) != simdjson::SUCCESS || pair.size() != 2 ||
        pair.at(0).get(text) != simdjson::SUCCESS || pair.at(1).get(score) != simdjson::SUCCESS)
      return fail(Errc::malformed, fmt::format("model.vocab row {} is not a token and its score",
                                               facts.vocabulary.size()));
    facts.vocabulary.push_back({text, static_cast<std::int64_t>(facts.vocabulary.size()), score});
  }
  return {};
}

Result<void> read_merge_list(dom::element value, TokenizerFacts &facts) {
  dom::array array;
  if (value.get(array) != simdjson::SUCCESS)
    return fail(Errc::malformed, "model.merges is not a list");
  facts.merges.reserve(array.size());
  for (const dom::element row : array) {
    std::string_view text;
    dom::array pair;
    if (row.get(text) == simdjson::SUCCESS) {
      const std::size_t space = text.find(' ');
      if (space == std::string_view::npos || text.find(' ', space + 1) != std::string_view::npos)
        return fail(Errc::malformed,
                    fmt::format("model.merges rank {} is not two tokens", facts.merges.size()));
      facts.merges.emplace_back(text.substr(0, space), text.substr(space + 1));
    } else if (row.get(pair) == simdjson::SUCCESS) {
      Merge merge;
      std::size_t n = 0;
      for (const dom::element token : pair) {
        if (n > 1 || token.get(n == 0 ? merge.first : merge.second) != simdjson::SUCCESS)
          n = 2;
        ++n;
      }
      if (n != 2)
        return fail(Errc::malformed,
                    fmt::format("model.merges rank {} is not two tokens", facts.merges.size()));
      facts.merges.push_back(merge);
      facts.merges_as_pairs = true;
    } else {
      return fail(Errc::malformed,
                  fmt::format("model.merges rank {} is not two tokens", facts.merges.size()));
    }
  }
  return {};
}

Result<void> read_added(dom::element value, TokenizerFacts &facts) {
  if (value.is_null())
    return {};
  dom::array array;
  if (value.get(array) != simdjson::SUCCESS)
    return fail(Errc::malformed, "added_tokens is not a list");
  for (const dom::element row : array) {
    AddedToken token;
    std::string_view content;
    dom::object object;
    if (row.get(object) != simdjson::SUCCESS || object["content"].get(content) != simdjson::SUCCESS)
      return fail(Errc::malformed, "an added token has no content");
    token.content = content;
    dom::element id;
    if (object["id"].get(id) != simdjson::SUCCESS || !read_id(id, token.id))
      return fail(Errc::malformed, fmt::format("added token {} has no id", shown(content)));
    const auto flag = [&](const char *key, bool &into) {
      bool read = false;
      if (object[key].get(read) == simdjson::SUCCESS)
        into = read;
    };
    flag("single_word", token.single_word);
    flag("lstrip", token.lstrip);
    flag("rstrip", token.rstrip);
    flag("normalized", token.normalized);
    flag("special", token.special);
    facts.added.push_back(std::move(token));
  }
  std::ranges::stable_sort(facts.added, {}, &AddedToken::id);
  return {};
}

Result<void> read_model(dom::element value, TokenizerFacts &facts) {
  dom::object model;
  if (value.get(model) != simdjson::SUCCESS)
    return fail(Errc::malformed, "model is not an object");
  for (const auto field : model) {
    if (field.key == "vocab") {
      if (const Result<void> done = read_vocabulary(field.value, facts); !done)
        return done;
    } else if (field.key == "merges") {
      if (const Result<void> done = read_merge_list(field.value, facts); !done)
        return done;
    } else {
      Result<std::string> json = canonical(field.value);
      if (!json)
        return std::unexpected(json.error());
      const bool usual = field.key == "max_input_chars_per_word" && *json == "100";
      if (!says_nothing(*json) && !usual)
        facts.parts.push_back({"model." + std::string(field.key), std::move(*json)});
    }
  }
  return {};
}

/// Runs `body` on the root of parsed JSON; the document lives as long as the facts.
template <class Body> Result<TokenizerFacts> with_document(std::string_view text, Body body) {
  // The parser here would pass over it; the tokenizers library does not.
  if (text.starts_with(byte_order_mark))
    return fail(Errc::malformed, "not JSON: it begins with a byte-order mark");
  const auto storage = std::make_shared<Storage>();
  dom::element root;
  {
    // What a parser needs for itself is as large as the document; it goes before facts are made.
    dom::parser parser;
    if (const auto error =
            parser.parse_into_document(storage->document, text.data(), text.size(), true).get(root);
        error != simdjson::SUCCESS)
      return not_json(error);
  }
  dom::object object;
  if (root.get(object) != simdjson::SUCCESS)
    return fail(Errc::malformed, "not an object");
  TokenizerFacts facts;
  facts.storage = storage;
  if (const Result<void> done = body(object, facts); !done)
    return std::unexpected(done.error());
  std::ranges::sort(facts.parts, {}, &TokenizerPart::name);
  return facts;
}

} // namespace

Result<TokenizerFacts> read_tokenizer_json(std::string_view text) {
  return with_document(text, [](dom::object root, TokenizerFacts &facts) -> Result<void> {
    dom::element model;
    if (root["model"].get(model) != simdjson::SUCCESS)
      return fail(Errc::malformed, "it has no model");
    for (const auto field : root) {
      if (field.key == "model") {
        if (const Result<void> done = read_model(field.value, facts); !done)
          return done;
      } else if (field.key == "added_tokens") {
        if (const Result<void> done = read_added(field.value, facts); !done)
          return done;
      } else if (field.key != "version") {
        Result<std::string> json = canonical(field.value);
        if (!json)
          return std::unexpected(json.error());
        if (!json->empty())
          facts.parts.push_back({std::string(field.key), std::move(*json)});
      }
    }
    return {};
  });
}

Result<TokenizerFacts> read_vocabulary_json(std::string_view text) {
  return with_document(text, [](dom::object root, TokenizerFacts &facts) -> Result<void> {
    facts.vocabulary.reserve(root.size());
    for (const auto field : root) {
      std::int64_t id = 0;
      if (!read_id(field.value, id))
        return fail(Errc::malformed, fmt::format("{} has no id", shown(field.key)));
      facts.vocabulary.push_back({field.key, id});
    }
    return {};
  });
}

Result<TokenizerFacts> read_tekken(std::string_view text) {
  return with_document(text, [](dom::object root, TokenizerFacts &facts) -> Result<void> {
    facts.base64 = true;
    dom::array vocabulary;
    if (root["vocab"].get(vocabulary) != simdjson::SUCCESS)
      return fail(Errc::malformed, "vocab is not a list");
    facts.vocabulary.reserve(vocabulary.size());
    for (const dom::element row : vocabulary) {
      std::string_view bytes;
      std::int64_t rank = 0;
      dom::element id;
      if (row["token_bytes"].get(bytes) != simdjson::SUCCESS ||
          row["rank"].get(id) != simdjson::SUCCESS || !read_id(id, rank))
        return fail(Errc::malformed, fmt::format("vocab row {} has no token_bytes and rank",
                                                 facts.vocabulary.size()));
      facts.vocabulary.push_back({bytes, rank});
    }
    for (const auto field : root) {
      if (field.key == "vocab")
        continue;
      if (field.key == "special_tokens") {
        dom::array tokens;
        if (field.value.get(tokens) != simdjson::SUCCESS)
          continue;
        for (const dom::element row : tokens) {
          std::string_view content;
          AddedToken token;
          dom::element id;
          if (row["token_str"].get(content) != simdjson::SUCCESS ||
              row["rank"].get(id) != simdjson::SUCCESS || !read_id(id, token.id))
            return fail(Errc::malformed, "a special token has no token_str and rank");
          token.content = content;
          token.special = true;
          facts.added.push_back(std::move(token));
        }
        std::ranges::stable_sort(facts.added, {}, &AddedToken::id);
        continue;
      }
      dom::object settings;
      if (field.value.get(settings) == simdjson::SUCCESS) {
        for (const auto setting : settings)
          if (Result<std::string> json = canonical(setting.value); json && !json->empty())
            facts.parts.push_back(
                {fmt::format("{}.{}", std::string_view(field.key), setting.key), std::move(*json)});
      } else if (Result<std::string> json = canonical(field.value); json && !json->empty()) {
        facts.parts.push_back({std::string(field.key), std::move(*json)});
      }
    }
    return {};
  });
}

std::string_view part_of(const TokenizerFacts &facts, std::string_view name) {
  const auto at = std::ranges::find(facts.parts, name, &TokenizerPart::name);
  return at != facts.parts.end() ? std::string_view(at->json) : std::string_view("null");
}

} // namespace headwater::read
