#include "daemon/cli/control.hpp"

#include "daemon/cli/table.hpp"
#include "daemon/net/unix_client.hpp"
#include "daemon/service/config.hpp"
#include "schemas/change.hpp"
#include "schemas/json.hpp"
#include "schemas/repo.hpp"
#include "schemas/text.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <ostream>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headwater::cli {
namespace {

constexpr std::chrono::seconds answer_timeout{60};
constexpr std::uint64_t largest_answer = 256U << 20U;

struct Answer {
  int status = 0;
  OrderedJson body;
};

struct Session {
  const ControlCommand &command;
  const Terminal &terminal;
  std::ostream &out;
  std::ostream &err;
  std::string socket;

  Result<Answer> ask(std::string method, std::string target, std::string body = "") const {
    net::Request request;
    request.method = std::move(method);
    request.target = std::move(target);
    request.headers = {{"Accept", "application/json"}};
    if (!body.empty())
      request.headers.emplace_back("Content-Type", "application/json");
    request.body = std::move(body);
    Result<net::Response> response =
        net::request_over_unix_socket(socket, request, answer_timeout, largest_answer);
    if (!response)
      return std::unexpected(response.error());
    Answer answer{response->status, OrderedJson::parse(response->body, nullptr, false)};
    if (!answer.body.is_object())
      return fail(Errc::malformed,
                  fmt::format("{}: the answer is not JSON: is a daemon of another version running?",
                              socket));
    return answer;
  }

  int complain(const Error &error) const {
    err << "headwater: " << error.message << "\n";
    return error.code == Errc::bad_input ? exit_bad_input : exit_upstream;
  }

  /// An answer that is no success, in the daemon's own words.
  int refuse(const Answer &answer) const {
    err << "headwater: "
        << answer.body.value("message",
                             std::string("the daemon refused: ") + std::to_string(answer.status))
        << "\n";
    return answer.status < 500 ? exit_bad_input : exit_upstream;
  }

  std::string query(std::string path,
                    const std::vector<std::pair<std::string, std::string>> &parameters) const {
    char mark = '?';
    for (const auto &[key, value] : parameters) {
      if (value.empty())
        continue;
      path += mark + key + "=" + net::encode_segment(value);
      mark = '&';
    }
    return path;
  }
};

/// A JSON value as a table's cell.
std::string cell(const OrderedJson &row, const char *key) {
  const auto at = row.find(key);
  if (at == row.end() || at->is_null())
    return "-";
  if (at->is_string())
    return plain_text(at->get<std::string>());
  return at->dump();
}

std::string short_sha(const OrderedJson &row, const char *key) {
  const std::string text = cell(row, key);
  return is_revision(text) ? text.substr(0, 12) : text;
}

const OrderedJson &list_at(const OrderedJson &body, const char *key) {
  static const OrderedJson none = OrderedJson::array();
  const auto at = body.find(key);
  return at != body.end() && at->is_array() ? *at : none;
}

void print_table(const Session &session, const std::vector<std::string> &header,
                 const std::vector<std::vector<std::string>> &rows, std::string_view nothing) {
  if (rows.empty())
    session.out << nothing << "\n";
  else
    session.out << format_table(header, rows);
}

void print_json(const Session &session, const OrderedJson &json) {
  session.out << json.dump(2, ' ', false, OrderedJson::error_handler_t::replace) << "\n";
}

/// Asks for facts and prints the answer: as it came with --json, else as `print` words it.
int show(const Session &session, const std::string &target,
         void (*print)(const Session &, const OrderedJson &)) {
  const Result<Answer> answer = session.ask("GET", target);
  if (!answer)
    return session.complain(answer.error());
  if (answer->status >= 300)
    return session.refuse(*answer);
  (session.command.json ? print_json : print)(session, answer->body);
  return exit_fine;
}

/// Sends an order: the exit code where it was not carried out, nothing where it was.
std::optional<int> order(const Session &session, std::string method, std::string target,
                         std::string body = "") {
  const Result<Answer> answer = session.ask(std::move(method), std::move(target), std::move(body));
  if (!answer)
    return session.complain(answer.error());
  if (answer->status >= 300)
    return session.refuse(*answer);
  return std::nullopt;
}

void print_watches(const Session &session, const OrderedJson &body) {
  std::vector<std::vector<std::string>> rows;
  for (const OrderedJson &row : list_at(body, "watches"))
    rows.push_back({cell(row, "repo"), cell(row, "branch"), cell(row, "history"),
                    row.value("declared", false) ? "config" : "watch add"});
  print_table(session, {"REPO", "BRANCH", "HISTORY", "FROM"}, rows,
              "Nothing is watched: headwater watch add org/name");
}

int watch_list(const Session &session) {
  return show(session, "/watches", print_watches);
}

int watch_add(const Session &session) {
  for (const std::string &name : session.command.arguments) {
    const Result<RepoId> id = parse_repo_id(name);
    if (!id)
      return session.complain(id.error());
    OrderedJson body = {{"repo", id->str()},
                        {"branch", session.command.branch},
                        {"publish", session.command.publish}};
    if (!session.command.history.empty())
      body["history"] = session.command.history;
    if (const auto refused = order(session, "POST", "/watches", body.dump()))
      return *refused;
    session.out << "watching " << id->str() << " at " << session.command.branch << "\n";
  }
  return exit_fine;
}

int watch_remove(const Session &session) {
  for (const std::string &name : session.command.arguments) {
    const std::string target =
        session.query("/watches", {{"repo", name}, {"branch", session.command.branch}});
    if (const auto refused = order(session, "DELETE", target))
      return *refused;
    session.out << "no longer watching " << plain_text(name) << "; its records stay served\n";
  }
  return exit_fine;
}

int watch_forget(const Session &session) {
  for (const std::string &name : session.command.arguments) {
    if (const auto refused = order(session, "DELETE", session.query("/repos", {{"repo", name}})))
      return *refused;
    session.out << "forgot " << plain_text(name)
                << "; ids of its published advisories stay, withdrawn and without content\n";
  }
  return exit_fine;
}

void print_status(const Session &session, const OrderedJson &body) {
  std::vector<std::vector<std::string>> rows;
  std::string notes;
  for (const OrderedJson &row : list_at(body, "repos")) {
    rows.push_back({cell(row, "repo"), cell(row, "state"), short_sha(row, "head"),
                    coloured(cell(row, "level"), session.terminal.colour),
                    cell(row, "open_advisories"), cell(row, "revisions"),
                    cell(row, "last_polled")});
    if (const std::string note = cell(row, "note"); note != "-" && !note.empty())
      notes += cell(row, "repo") + ": " + note + "\n";
  }
  print_table(session, {"REPO", "STATE", "HEAD", "LEVEL", "OPEN", "REVISIONS", "LAST POLL"}, rows,
              "Nothing is watched: headwater watch add org/name");
  if (!notes.empty())
    session.out << "\n" << notes;
  if (const std::string trouble = cell(body, "trouble"); trouble != "-")
    session.out << "\nupstream is not answering now: " << trouble << "\n";
}

int status(const Session &session) {
  return show(session, "/status", print_status);
}

void print_revisions(const Session &session, const OrderedJson &body) {
  std::vector<std::vector<std::string>> rows;
  for (const OrderedJson &row : list_at(body, "revisions")) {
    std::string state = cell(row, "status");
    if (!row.value("on_branch", true))
      state += ", rewritten away";
    rows.push_back({cell(row, "date"), short_sha(row, "sha"), state,
                    coloured(cell(row, "level"), session.terminal.colour), cell(row, "changes"),
                    cell(row, "title")});
  }
  print_table(session, {"DATE", "REVISION", "STATUS", "LEVEL", "CHANGES", "TITLE"}, rows,
              "No revision has been read yet");
}

int revisions(const Session &session) {
  const std::string target =
      session.query("/revisions", {{"repo", session.command.arguments.front()},
                                   {"branch", session.command.branch}});
  return show(session, target, print_revisions);
}

void print_changes(const Session &session, const OrderedJson &body) {
  const OrderedJson &deltas = list_at(body, "changes");
  if (deltas.empty())
    session.out << "No change has been read yet\n";
  for (const OrderedJson &delta : deltas) {
    session.out << cell(delta, "date") << "  " << short_sha(delta, "to") << "  "
                << cell(delta, "title") << "\n";
    for (const OrderedJson &change : list_at(delta, "changes"))
      session.out << "  " << coloured(cell(change, "level"), session.terminal.colour) << " "
                  << coloured(cell(change, "impact"), session.terminal.colour) << "  "
                  << cell(change, "kind") << ": " << cell(change, "explanation") << "\n";
    for (const OrderedJson &change : list_at(delta, "plan_changes"))
      session.out << "  plan: " << cell(change, "sentence") << "\n";
  }
}

int changes(const Session &session) {
  const std::string target = session.query("/changes", {{"repo", session.command.arguments.front()},
                                                        {"branch", session.command.branch},
                                                        {"impact", session.command.impact}});
  return show(session, target, print_changes);
}

void print_advisories(const Session &session, const OrderedJson &body) {
  std::vector<std::vector<std::string>> rows;
  for (const OrderedJson &row : list_at(body, "advisories"))
    rows.push_back({cell(row, "id"), coloured(cell(row, "level"), session.terminal.colour),
                    coloured(cell(row, "impact"), session.terminal.colour), cell(row, "state"),
                    cell(row, "summary")});
  print_table(session, {"ID", "LEVEL", "IMPACT", "STATE", "SUMMARY"}, rows,
              "No advisory has been made");
}

int advisories(const Session &session) {
  const std::string repo =
      session.command.arguments.empty() ? "" : session.command.arguments.front();
  return show(session,
              session.query("/advisories", {{"repo", repo}, {"impact", session.command.impact}}),
              print_advisories);
}

/// One REPO@PIN. Findings are counted from the levels of --fail-on upwards.
int check_one(const Session &session, std::string_view argument, Level fail_on,
              OrderedJson &results) {
  const auto at = argument.find('@');
  if (at == std::string_view::npos || at + 1 == argument.size())
    return session.complain(
        {Errc::bad_input,
         fmt::format("'{}' names no pin: write it as org/name@REVISION", plain_text(argument))});
  const std::string repo(argument.substr(0, at));
  const std::string pin(argument.substr(at + 1));
  const Result<Answer> answer = session.ask(
      "GET",
      session.query("/check", {{"repo", repo}, {"pin", pin}, {"branch", session.command.branch}}));
  if (!answer)
    return session.complain(answer.error());
  if (answer->status == 404) {
    session.err << "headwater: " << answer->body.value("message", std::string("unknown revision"))
                << "\n";
    return exit_upstream;
  }
  if (answer->status >= 300)
    return session.refuse(*answer);
  const OrderedJson &body = answer->body;
  const std::string state = body.value("status", std::string());
  int code = exit_fine;
  if (state.find("unknown") != std::string::npos)
    code = exit_upstream;
  const auto level = level_from(cell(body, "level"));
  if (code == exit_fine &&
      (state.find("rewritten") != std::string::npos || (level && *level >= fail_on)))
    code = exit_found;
  results.push_back(body);
  if (session.command.json)
    return code;
  session.out << plain_text(repo) << "@" << plain_text(pin.substr(0, 12)) << ": ";
  if (code == exit_upstream) {
    session.out << "unknown revision: it was never read, so nothing is known about it\n";
    return code;
  }
  session.out << state << ", " << cell(body, "behind") << " behind " << short_sha(body, "head");
  if (cell(body, "behind") != "0")
    session.out << ", " << coloured(cell(body, "level"), session.terminal.colour) << " "
                << cell(body, "impact");
  session.out << "\n";
  for (const OrderedJson &advisory : list_at(body, "advisories")) {
    if (advisory.is_string())
      session.out << "  " << plain_text(advisory.get<std::string>()) << "\n";
    else
      session.out << "  " << cell(advisory, "id") << " " << cell(advisory, "level") << ": "
                  << cell(advisory, "summary") << "\n";
  }
  return code;
}

int check(const Session &session) {
  const auto fail_on = level_from(session.command.fail_on);
  if (!fail_on)
    return session.complain(
        {Errc::bad_input, fmt::format("--fail-on {}: it is none of low, medium, high, critical",
                                      plain_text(session.command.fail_on))});
  int worst = exit_fine;
  OrderedJson results = OrderedJson::array();
  for (const std::string &argument : session.command.arguments)
    worst = std::max(worst, check_one(session, argument, *fail_on, results));
  if (session.command.json && !results.empty())
    print_json(session, results.size() == 1 ? results.front() : OrderedJson{{"checks", results}});
  return worst;
}

/// Each REPO@SHA, sent to the daemon by one method.
int order_pins(const Session &session, const std::string &method, std::string_view done) {
  for (const std::string &argument : session.command.arguments) {
    const auto at = argument.find('@');
    if (at == std::string::npos || at + 1 == argument.size())
      return session.complain(
          {Errc::bad_input, fmt::format("'{}' names no revision: write it as org/name@REVISION",
                                        plain_text(argument))});
    const std::string target = session.query("/pins", {{"repo", argument.substr(0, at)},
                                                       {"pin", argument.substr(at + 1)},
                                                       {"branch", session.command.branch}});
    if (const auto refused = order(session, method, target))
      return *refused;
    session.out << done << " " << plain_text(argument) << "\n";
  }
  return exit_fine;
}

int pin_add(const Session &session) {
  return order_pins(session, "POST", "pinned");
}

int pin_remove(const Session &session) {
  return order_pins(session, "DELETE", "no longer pinned");
}

void print_pins(const Session &session, const OrderedJson &body) {
  std::vector<std::vector<std::string>> rows;
  for (const OrderedJson &row : list_at(body, "pins"))
    rows.push_back({cell(row, "repo"), cell(row, "branch"), short_sha(row, "pin"),
                    cell(row, "from"), cell(row, "at")});
  print_table(session, {"REPO", "BRANCH", "REVISION", "FROM", "AT"}, rows,
              "Nothing is pinned: headwater pin add org/name@REVISION");
}

int pin_list(const Session &session) {
  return show(session, "/pins", print_pins);
}

std::string socket_of(const ControlCommand &command) {
  if (!command.socket.empty())
    return command.socket;
  service::Config config;
  service::apply_environment(config, service::process_environment());
  return config.socket_path;
}

} // namespace

int run_control(const ControlCommand &command, const Terminal &terminal, std::ostream &out,
                std::ostream &err) {
  static constexpr std::array<std::pair<std::string_view, int (*)(const Session &)>, 12> verbs{
      {{"watch-add", watch_add},
       {"watch-remove", watch_remove},
       {"watch-list", watch_list},
       {"watch-forget", watch_forget},
       {"status", status},
       {"revisions", revisions},
       {"changes", changes},
       {"advisories", advisories},
       {"check", check},
       {"pin-add", pin_add},
       {"pin-remove", pin_remove},
       {"pin-list", pin_list}}};
  const Session session{command, terminal, out, err, socket_of(command)};
  const auto verb = std::ranges::find(
      verbs, command.verb, &std::pair<std::string_view, int (*)(const Session &)>::first);
  if (verb == verbs.end())
    return session.complain({Errc::internal, "no verb is called " + command.verb});
  return verb->second(session);
}

} // namespace headwater::cli
