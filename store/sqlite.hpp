#pragma once

#include "schemas/result.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace headwater::store {

/// The cause of an error that tells of damaged bytes.
inline constexpr std::string_view damaged = "damaged";

/// A prepared statement with its values bound, stepped row by row. Columns count from 0.
class Statement {
public:
  explicit Statement(sqlite3_stmt *statement) : statement_(statement) {}
  void bind(int index, std::string_view text);
  void bind(int index, std::int64_t number);
  void bind_blob(int index, std::string_view bytes);
  void bind_null(int index);
  std::string text(int column) const;
  std::string blob(int column) const;
  std::int64_t number(int column) const;
  bool is_null(int column) const;
  sqlite3_stmt *handle() const { return statement_; }

private:
  sqlite3_stmt *statement_;
};

/// One connection. Not shared between threads. Statements are prepared once.
class Database {
public:
  /// Errors: store, with the file's name and what to do.
  static Result<std::unique_ptr<Database>> open(const std::string &path, bool read_only);
  /// For a file that nobody writes to: read without a lock, and nothing appears beside it.
  static Result<std::unique_ptr<Database>> open_unchanging(const std::string &path);
  ~Database();
  Database(const Database &) = delete;
  Database &operator=(const Database &) = delete;

  /// Runs statements without values or rows.
  Result<void> run_script(const std::string &sql);
  /// Binds the values in order and runs to the end; `row` is called for each row and may be empty.
  template <class... Values>
  Result<void> run(std::string_view sql, const std::function<void(const Statement &)> &row,
                   const Values &...values) {
    Result<Statement> statement = prepare(sql);
    if (!statement)
      return std::unexpected(statement.error());
    int index = 0;
    (bind_value(*statement, ++index, values), ...);
    return step_all(*statement, row);
  }
  std::int64_t changes() const;
  std::int64_t last_rowid() const;
  /// Called before each step; true makes it fail as a full disk would. For tests of half-done work.
  void set_fault(std::function<bool()> fault) { fault_ = std::move(fault); }
  /// Told behind each statement how many rows it passed over without an index. For tests of what a
  /// step costs.
  void set_observer(std::function<void(std::string_view sql, std::int64_t scanned)> observer) {
    observer_ = std::move(observer);
  }
  /// Gives SQL a function of one text or blob, for migrations; what it refuses fails the statement.
  enum class Gives : std::uint8_t { text, blob };
  using Function = Result<std::string> (*)(std::string_view argument);
  Result<void> define(const char *name, Gives gives, Function function);
  /// A consistent copy of the whole database in place of what is there. Errors: store.
  Result<void> copy_to(const std::string &path);
  const std::string &path() const { return path_; }

  struct Blob {
    std::string_view bytes;
  };

private:
  Database(sqlite3 *handle, std::string path) : handle_(handle), path_(std::move(path)) {}
  static Result<std::unique_ptr<Database>> open_as(const std::string &path,
                                                   const std::string &address, int flags);
  Result<Statement> prepare(std::string_view sql);
  Result<void> step_all(Statement &statement, const std::function<void(const Statement &)> &row);
  std::unexpected<Error> error(std::string_view doing) const;
  static void bind_value(Statement &statement, int index, std::string_view value) {
    statement.bind(index, value);
  }
  static void bind_value(Statement &statement, int index, const std::string &value) {
    statement.bind(index, std::string_view(value));
  }
  static void bind_value(Statement &statement, int index, std::int64_t value) {
    statement.bind(index, value);
  }
  static void bind_value(Statement &statement, int index, int value) {
    statement.bind(index, std::int64_t{value});
  }
  static void bind_value(Statement &statement, int index, bool value) {
    statement.bind(index, std::int64_t{value ? 1 : 0});
  }
  static void bind_value(Statement &statement, int index, const Blob &value) {
    statement.bind_blob(index, value.bytes);
  }
  static void bind_value(Statement &statement, int index, std::nullptr_t) {
    statement.bind_null(index);
  }

  sqlite3 *handle_;
  std::string path_;
  std::unordered_map<std::string, sqlite3_stmt *> statements_;
  std::function<bool()> fault_;
  std::function<void(std::string_view, std::int64_t)> observer_;
};

} // namespace headwater::store
