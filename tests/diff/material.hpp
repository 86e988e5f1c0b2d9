#pragma once

#include "schemas/json.hpp"
#include "tests/diff/fixture.hpp"

#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

/// What the mutation tests edit and rewrite: files of the shared corpus where it exists, and files
/// of our own.
namespace headwater::diff::test {

using Random = std::mt19937_64;
using Revision = std::map<std::string, std::string>; ///< path -> bytes

/// Two revisions of a repository that differ in one way.
struct Rewrite {
  std::string sort; ///< of edit, for the summary
  std::string what; ///< for a person who reads a failure
  Revision before;
  Revision after;
  std::string place = {}; ///< the path that a change must name
  bool one_fact = false;  ///< exactly one change tells it
};

class Material {
public:
  Material();
  /// One random edit that a reader must be told of; nothing when the file drawn has no such place.
  std::optional<Rewrite> edit(Random &random) const;
  /// One random rewrite that changes nothing which a reader acts on.
  std::optional<Rewrite> same(Random &random) const;

private:
  struct Source {
    std::string path; ///< in the repository
    std::string file; ///< on disk; "" when `text` holds the content
    std::string text = {};
  };
  std::string text_of(const Source &source) const;

  std::vector<Source> documents_; ///< JSON files
  std::vector<Source> templates_;
  std::vector<Source> indexes_;
};

} // namespace headwater::diff::test
