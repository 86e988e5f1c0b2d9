#pragma once

#include "daemon/read/gguf.hpp"
#include "daemon/read/tokenizer.hpp"
#include "schemas/json.hpp"
#include "schemas/result.hpp"
#include "schemas/snapshot.hpp"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

/// What a revision says, once: everything that can have an effect, by subject and place. What is
/// told of two revisions, what ends an advisory and which revisions are the same are all read from
/// here.
namespace headwater::diff {

struct ConfigFacts;

/// What is known of one JSON file.
struct Document {
  enum class State : std::uint8_t {
    absent,
    unread,    ///< there, but its bytes are not known (over a limit, not fetched)
    malformed, ///< not what its name promises
    ok,        ///< `json` is its object
  };
  State state = State::absent;
  std::shared_ptr<const Json> json; ///< an object; an empty one unless ok
  std::string problem = {};         ///< a sentence without the path
};

/// How a value stands to its absence.
enum class Force : std::uint8_t {
  holds,          ///< without it, something else holds
  stands_without, ///< the same holds without it; another value would not
  said_elsewhere, ///< another place has it too, as far as both speak
  no_effect,      ///< whatever its value
};

/// Which way a place can change so that somebody has to act.
enum class Counts : std::uint8_t {
  both_ways,
  when_gone, ///< what comes beside the rest is in nobody's way
  when_new,  ///< a fault: that it is gone needs no word
};

/// What one place says, with names, spellings and order as all files have them in common.
struct Fact {
  std::string value; ///< compact JSON, or a digest
  Force force = Force::holds;
  Counts counts = Counts::both_ways;
  bool by_build = false;     ///< of config.json: what it does is what is built from the whole
  bool unread = false;       ///< the content is not known; `value` names it
  bool broken = false;       ///< does not load; what it says when it does again cannot be compared
  bool first_upload = false; ///< comes with the first files of its folder and is told with them
  std::string under = {}; ///< the object that brings it along; told for it where it comes or goes
  std::string where = {}; ///< where the file has it, when that is not the place itself
};

using Places = std::map<std::string, Fact>;

/// What one file says, whatever lies beside it.
struct FileFacts {
  std::string id; ///< of its content
  bool read = false;
  Document document = {};
  std::shared_ptr<const ConfigFacts> config = nullptr;
  std::shared_ptr<const std::string> bytes = nullptr; ///< what `tokenizer` and `gguf` point into
  std::shared_ptr<const Result<read::TokenizerFacts>> tokenizer = nullptr;
  std::shared_ptr<const Result<read::GgufHeader>> gguf = nullptr;
  std::map<std::string, Places, std::less<>> subjects = {};
  std::vector<std::string> objects = {};
};

/// All that a revision says.
struct Facts {
  std::map<std::string, Places, std::less<>> subjects;
  std::set<std::string, std::less<>> objects; ///< that bring places along
  std::map<std::string, std::shared_ptr<const FileFacts>, std::less<>> files;
  std::set<std::string, std::less<>> loadable; ///< folders that hold something to load, or below
  std::map<std::string, std::string, std::less<>> rendered; ///< digest of a template in its tokens
                                                            ///< -> digest of what it renders
};

/// Reads a revision. Files, and templates, that `known` has with the same content are taken from
/// there and not parsed again. Pure.
Facts facts_of(const Snapshot &snapshot, const Facts *known = nullptr);

/// The same for a comparison with one other revision alone: large files that both have with the
/// same content are not parsed. The digests of such facts are of no use beside others.
Facts facts_beside(const Snapshot &snapshot, const Snapshot &other, const Facts *known = nullptr);

/// The parsed document at a path; state absent where there is none.
const Document &document_of(const Facts &facts, std::string_view path);

/// Says which places of two revisions differ in effect.
class Judge {
public:
  Judge(const Facts &before, const Facts &after) : before_(before), after_(after) {}

  /// True when the place changed so that it has to be told.
  bool moves(std::string_view subject, const std::string &place) const;
  /// All places of a subject that did.
  std::vector<std::string> moved(std::string_view subject) const;
  /// True when the place, and what it brings along, says on both sides the same for certain.
  bool same(std::string_view subject, const std::string &place) const;
  /// Whether the model that both config.json describe is built the same.
  bool builds_alike() const;

private:
  bool comes_with_another(const Fact &fact, const std::string &place) const;
  bool differs(const Fact *before, const Fact *after, const std::string &place) const;

  const Facts &before_;
  const Facts &after_;
  mutable std::optional<bool> builds_alike_;
};

/// Of a change at `path`, whether it tells the place.
bool tells(std::string_view path, const std::string &place, const Fact &fact);

/// A digest of what a subject says, equal where nothing of it differs in effect; "" for a subject
/// that no revision has facts of. Digests of other versions of the readers are never equal to it.
std::string subject_hash(const Facts &facts, std::string_view subject);
/// The same over all subjects.
std::string fact_hash(const Facts &facts);

} // namespace headwater::diff
