#include "schemas/advisory.hpp"
#include "schemas/change.hpp"
#include "store/migrations.hpp"
#include "store/rows.hpp"
#include "store/sqlite.hpp"

#include <charconv>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headwater::store {
namespace {

Result<std::string> packed(std::string_view bytes) {
  return compress(bytes);
}

Result<std::string> digest(std::string_view bytes) {
  return digest_of(bytes);
}

Result<std::string> level_of_delta(std::string_view json) {
  const Result<Delta> delta = delta_from_json(Json::parse(json, nullptr, false));
  if (!delta)
    return std::unexpected(delta.error());
  return std::string(to_string(level_of(delta->changes)));
}

Result<std::string> impact_of_delta(std::string_view json) {
  const Result<Delta> delta = delta_from_json(Json::parse(json, nullptr, false));
  if (!delta)
    return std::unexpected(delta.error());
  return std::string(to_string(impact_of(delta->changes)));
}

Result<std::string> substance_of_advisory(std::string_view json) {
  const Result<Advisory> advisory = advisory_from_json(Json::parse(json, nullptr, false));
  if (!advisory)
    return std::unexpected(advisory.error());
  return advisory->substance_at;
}

/// What the steps' SQL calls.
Result<void> define_functions(Database &database) {
  using Gives = Database::Gives;
  Result<void> done = database.define("zstd", Gives::blob, packed);
  if (done)
    done = database.define("unzstd", Gives::text, decompress);
  if (done)
    done = database.define("sha256", Gives::blob, digest);
  if (done)
    done = database.define("delta_level", Gives::text, level_of_delta);
  if (done)
    done = database.define("delta_impact", Gives::text, impact_of_delta);
  if (done)
    done = database.define("advisory_substance", Gives::text, substance_of_advisory);
  return done;
}

} // namespace

std::int64_t version_of(const Migration &migration) {
  std::int64_t number = 0;
  std::from_chars(migration.name.data(), migration.name.data() + migration.name.size(), number);
  return number;
}

std::int64_t newest_version() {
  return version_of(migrations().back());
}

Result<std::int64_t> version_of(Database &database) {
  std::int64_t version = 0;
  if (Result<void> read = database.run("PRAGMA user_version",
                                       [&](const Statement &row) { version = row.number(0); });
      !read)
    return std::unexpected(read.error());
  return version;
}

Result<void> migrate(Database &database) {
  const Result<std::int64_t> found = version_of(database);
  if (!found)
    return std::unexpected(found.error());
  const std::int64_t version = *found;
  if (version > newest_version() || version < 0)
    return fail(Errc::bad_input,
                fmt::format("{}: written by a newer version of headwater (schema {}, this one "
                            "knows up to {}): install that version, or name "
                            "another state folder; the file was left as it is",
                            database.path(), version, newest_version()));
  if (version == newest_version())
    return {};
  // Tables are made anew in place of those that others refer to.
  if (Result<void> ready = database.run("PRAGMA foreign_keys = OFF", {}); !ready)
    return ready;
  if (Result<void> defined = define_functions(database); !defined)
    return defined;
  for (const Migration &migration : migrations()) {
    const std::int64_t step = version_of(migration);
    if (step <= version)
      continue;
    // A database that is made now has nothing to lose.
    if (version > 0) {
      if (Result<void> copied =
              database.copy_to(fmt::format("{}.before-{:04}", database.path(), step));
          !copied)
        return copied;
    }
    const std::string sql = fmt::format("BEGIN IMMEDIATE;\n{}\nPRAGMA user_version = {};\nCOMMIT;",
                                        migration.sql, step);
    if (Result<void> done = database.run_script(sql); !done) {
      // The first error is what a person needs; a failed rollback of an open transaction adds
      // nothing to it.
      static_cast<void>(database.run_script("ROLLBACK"));
      return wrap(fmt::format("migration {}", migration.name), done.error());
    }
  }
  return {};
}

} // namespace headwater::store
