#include "store/sqlite.hpp"

#include <filesystem>

#include <fmt/format.h>
#include <sqlite3.h>

namespace headwater::store {
namespace {

/// SQLITE_TRANSIENT is a cast in the old style; this is the same value. The bytes are copied by
/// SQLite.
const auto copy_bytes = reinterpret_cast<sqlite3_destructor_type>(std::intptr_t{-1});

struct Defined {
  Database::Gives gives;
  Database::Function function;
};

void call_defined(sqlite3_context *context, int, sqlite3_value **arguments) {
  if (sqlite3_value_type(arguments[0]) == SQLITE_NULL)
    return sqlite3_result_null(context);
  const auto *defined = static_cast<const Defined *>(sqlite3_user_data(context));
  const auto *bytes = static_cast<const char *>(sqlite3_value_blob(arguments[0]));
  const auto size = static_cast<std::size_t>(sqlite3_value_bytes(arguments[0]));
  const Result<std::string> result =
      defined->function(bytes == nullptr ? std::string_view() : std::string_view(bytes, size));
  if (!result)
    return sqlite3_result_error(context, result.error().message.c_str(), -1);
  if (defined->gives == Database::Gives::blob)
    sqlite3_result_blob64(context, result->data(), result->size(), copy_bytes);
  else
    sqlite3_result_text64(context, result->data(), result->size(), copy_bytes, SQLITE_UTF8);
}

std::string mend_for(int code) {
  switch (code & 0xFF) {
  case SQLITE_FULL:
    return "the disk is full: free some space; nothing that was committed is lost";
  case SQLITE_CANTOPEN:
  case SQLITE_PERM:
  case SQLITE_READONLY:
    return "check that the folder exists and that this user may write to it";
  case SQLITE_NOTADB:
    return "the file is not a SQLite database: move it away, or name another state folder";
  case SQLITE_CORRUPT:
    return "the database is damaged: restore a backup (`headwater backup` makes them)";
  case SQLITE_BUSY:
  case SQLITE_LOCKED:
    return "another process holds the database: is a second daemon running on this state folder?";
  default:
    return "see the message";
  }
}

} // namespace

void Statement::bind(int index, std::string_view text) {
  sqlite3_bind_text64(statement_, index, text.data() == nullptr ? "" : text.data(), text.size(),
                      copy_bytes, SQLITE_UTF8);
}

void Statement::bind(int index, std::int64_t number) {
  sqlite3_bind_int64(statement_, index, number);
}

void Statement::bind_blob(int index, std::string_view bytes) {
  sqlite3_bind_blob64(statement_, index, bytes.data() == nullptr ? "" : bytes.data(), bytes.size(),
                      copy_bytes);
}

void Statement::bind_null(int index) {
  sqlite3_bind_null(statement_, index);
}

std::string Statement::text(int column) const {
  const unsigned char *bytes = sqlite3_column_text(statement_, column);
  if (bytes == nullptr)
    return {};
  return std::string(reinterpret_cast<const char *>(bytes),
                     static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)));
}

std::string Statement::blob(int column) const {
  const void *bytes = sqlite3_column_blob(statement_, column);
  if (bytes == nullptr)
    return {};
  return std::string(static_cast<const char *>(bytes),
                     static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)));
}

std::int64_t Statement::number(int column) const {
  return sqlite3_column_int64(statement_, column);
}

bool Statement::is_null(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

Result<std::unique_ptr<Database>> Database::open(const std::string &path, bool read_only) {
  return open_as(path, path,
                 read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
}

Result<std::unique_ptr<Database>> Database::open_unchanging(const std::string &path) {
  std::string address = "file:";
  for (const char c : path)
    address += c == '%' || c == '?' || c == '#' ? fmt::format("%{:02X}", c) : std::string(1, c);
  return open_as(path, address + "?immutable=1", SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
}

Result<std::unique_ptr<Database>> Database::open_as(const std::string &path,
                                                    const std::string &address, int flags) {
  sqlite3 *handle = nullptr;
  const int code = sqlite3_open_v2(address.c_str(), &handle, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  if (code != SQLITE_OK) {
    const std::string reason = handle != nullptr ? sqlite3_errmsg(handle) : sqlite3_errstr(code);
    sqlite3_close(handle);
    return fail(Errc::store, fmt::format("{}: cannot be opened: {}", path, mend_for(code)), reason);
  }
  sqlite3_busy_timeout(handle, 5000);
  sqlite3_extended_result_codes(handle, 1);
  return std::unique_ptr<Database>(new Database(handle, path));
}

Database::~Database() {
  for (const auto &[sql, statement] : statements_)
    sqlite3_finalize(statement);
  sqlite3_close(handle_);
}

std::unexpected<Error> Database::error(std::string_view doing) const {
  const int code = sqlite3_errcode(handle_);
  const int kind = code & 0xFF;
  return fail(
      Errc::store,
      fmt::format("{}: {} failed: {}: {}", path_, doing, sqlite3_errmsg(handle_), mend_for(code)),
      kind == SQLITE_CORRUPT || kind == SQLITE_NOTADB ? std::string(damaged) : std::string());
}

Result<void> Database::run_script(const std::string &sql) {
  if (fault_ && fault_())
    return fail(Errc::store, path_ + ": writing failed: a fault was asked for");
  if (sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
    return error("a statement");
  return {};
}

Result<Statement> Database::prepare(std::string_view sql) {
  auto at = statements_.find(std::string(sql));
  if (at == statements_.end()) {
    sqlite3_stmt *statement = nullptr;
    if (sqlite3_prepare_v3(handle_, sql.data(), static_cast<int>(sql.size()),
                           SQLITE_PREPARE_PERSISTENT, &statement, nullptr) != SQLITE_OK)
      return error("preparing a statement");
    at = statements_.emplace(std::string(sql), statement).first;
  }
  return Statement(at->second);
}

Result<void> Database::step_all(Statement &statement,
                                const std::function<void(const Statement &)> &row) {
  Result<void> result;
  if (fault_ && fault_()) {
    result = fail(Errc::store, path_ + ": writing failed: a fault was asked for");
  } else {
    int code = sqlite3_step(statement.handle());
    for (; code == SQLITE_ROW; code = sqlite3_step(statement.handle()))
      if (row)
        row(statement);
    if (code != SQLITE_DONE)
      result = error("a statement");
  }
  if (observer_)
    observer_(sqlite3_sql(statement.handle()),
              sqlite3_stmt_status(statement.handle(), SQLITE_STMTSTATUS_FULLSCAN_STEP, 1));
  sqlite3_reset(statement.handle());
  sqlite3_clear_bindings(statement.handle());
  return result;
}

std::int64_t Database::changes() const {
  return sqlite3_changes64(handle_);
}

std::int64_t Database::last_rowid() const {
  return sqlite3_last_insert_rowid(handle_);
}

Result<void> Database::define(const char *name, Gives gives, Function function) {
  const auto forget = [](void *defined) { delete static_cast<Defined *>(defined); };
  // SQLite owns it from here on, also when this fails.
  if (sqlite3_create_function_v2(handle_, name, 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC,
                                 new Defined{gives, function}, call_defined, nullptr, nullptr,
                                 forget) != SQLITE_OK)
    return error("defining a function");
  return {};
}

Result<void> Database::copy_to(const std::string &path) {
  std::error_code removed;
  std::filesystem::remove(path, removed);
  sqlite3 *target = nullptr;
  if (const int code = sqlite3_open(path.c_str(), &target); code != SQLITE_OK) {
    sqlite3_close(target);
    return fail(Errc::store, fmt::format("{}: cannot be written: {}", path, mend_for(code)));
  }
  sqlite3_backup *backup = sqlite3_backup_init(target, "main", handle_, "main");
  int code = backup != nullptr ? sqlite3_backup_step(backup, -1) : sqlite3_errcode(target);
  if (backup != nullptr)
    sqlite3_backup_finish(backup);
  sqlite3_close(target);
  if (code != SQLITE_DONE)
    return fail(Errc::store, fmt::format("{}: cannot be written: {}", path, mend_for(code)));
  return {};
}

} // namespace headwater::store
