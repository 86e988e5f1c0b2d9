#include "store/migrations.hpp"
#include "store/sqlite.hpp"

#include <fmt/format.h>

namespace headwater::store {

Result<void> migrate(Database &database) {
  std::int64_t version = 0;
  if (Result<void> read = database.run("PRAGMA user_version",
                                       [&](const Statement &row) { version = row.number(0); });
      !read)
    return read;
  const auto steps = migrations();
  if (version > static_cast<std::int64_t>(steps.size()) || version < 0)
    return fail(Errc::bad_input,
                fmt::format("{}: written by a newer version of headwater (schema {}, this one "
                            "knows up to {}): install that version, or name "
                            "another state folder; the file was left as it is",
                            database.path(), version, steps.size()));
  for (auto step = static_cast<std::size_t>(version); step < steps.size(); ++step) {
    const Migration &migration = steps[step];
    // A database that is made now has nothing to lose.
    if (version > 0) {
      if (Result<void> copied =
              database.copy_to(fmt::format("{}.before-{:04}", database.path(), step + 1));
          !copied)
        return copied;
    }
    const std::string sql = fmt::format("BEGIN IMMEDIATE;\n{}\nPRAGMA user_version = {};\nCOMMIT;",
                                        migration.sql, step + 1);
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
