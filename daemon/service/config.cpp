#include "daemon/service/config.hpp"

#include "daemon/diff/rules.hpp"
#include "daemon/service/toml_text.hpp"
#include "schemas/branch.hpp"
#include "schemas/change.hpp"
#include "schemas/repo.hpp"
#include "schemas/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <sstream>
#include <utility>

#include <fmt/format.h>

namespace headwater::service {
namespace {

using Setter = Result<void> (*)(Config &, const toml::node &);

std::string type_name(const toml::node &node) {
  std::ostringstream out;
  out << node.type();
  return out.str();
}

Result<std::string> text_of(const toml::node &node) {
  if (const auto value = node.value<std::string>(); node.is_string() && value)
    return *value;
  return fail(Errc::bad_input,
              fmt::format("expected a text in quotes, found a {}", type_name(node)));
}

Result<std::int64_t> integer_of(const toml::node &node, std::int64_t least, std::int64_t most) {
  const auto value = node.value<std::int64_t>();
  if (!node.is_integer() || !value)
    return fail(Errc::bad_input,
                fmt::format("expected a whole number, found a {}", type_name(node)));
  if (*value < least || *value > most)
    return fail(Errc::bad_input, fmt::format("{} is outside {} to {}", *value, least, most));
  return *value;
}

Result<std::chrono::seconds> duration_of(const toml::node &node) {
  if (node.is_integer()) {
    const Result<std::int64_t> seconds = integer_of(node, 0, 365LL * 86400);
    if (!seconds)
      return std::unexpected(seconds.error());
    return std::chrono::seconds(*seconds);
  }
  const Result<std::string> text = text_of(node);
  if (!text)
    return fail(Errc::bad_input, "expected a duration like \"10m\"");
  return parse_duration(*text);
}

Result<std::string> history_of(const toml::node &node) {
  std::string text;
  if (node.is_integer()) {
    const Result<std::int64_t> count = integer_of(node, 0, 1'000'000);
    if (!count)
      return std::unexpected(count.error());
    text = std::to_string(*count);
  } else {
    Result<std::string> word = text_of(node);
    if (!word)
      return word;
    text = *word;
  }
  const bool number =
      !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  if (text != "all" && text != "none" && !number)
    return fail(Errc::bad_input,
                fmt::format("'{}' is neither \"all\", \"none\" nor a number of revisions",
                            plain_text(text, 40)));
  return text;
}

Result<std::string> url_of(const toml::node &node) {
  Result<std::string> text = text_of(node);
  if (!text)
    return text;
  while (text->ends_with('/'))
    text->pop_back();
  if (!text->starts_with("https://") && !text->starts_with("http://"))
    return fail(Errc::bad_input,
                fmt::format("'{}' does not start with https:// or http://", plain_text(*text, 80)));
  return text;
}

/// Puts a parsed value where it belongs, or passes the error on.
template <class T, class U> Result<void> put(T &place, Result<U> value) {
  if (!value)
    return std::unexpected(value.error());
  place = static_cast<T>(std::move(*value));
  return {};
}

bool is_prefix_character(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '-';
}

struct Key {
  std::string_view path;
  Setter set;
};

constexpr std::array keys{
    Key{"hub.endpoint",
        [](Config &c, const toml::node &n) { return put(c.hub_endpoint, url_of(n)); }},
    Key{"hub.token_file",
        [](Config &c, const toml::node &n) { return put(c.hub_token_file, text_of(n)); }},
    Key{"hub.requests_per_second",
        [](Config &c, const toml::node &n) -> Result<void> {
          const auto value = n.value<double>();
          if (!n.is_number() || !value || *value < 0)
            return fail(Errc::bad_input, "expected a number of 0 or more");
          c.hub_requests_per_second = *value;
          return {};
        }},
    Key{"state.folder",
        [](Config &c, const toml::node &n) { return put(c.state_folder, text_of(n)); }},
    Key{"http.listen",
        [](Config &c, const toml::node &n) -> Result<void> {
          const Result<std::string> text = text_of(n);
          return text ? put(c.listen, parse_listen(*text)) : std::unexpected(text.error());
        }},
    Key{"http.admin_listen",
        [](Config &c, const toml::node &n) -> Result<void> {
          const Result<std::string> text = text_of(n);
          return text ? put(c.admin_listen, parse_listen(*text)) : std::unexpected(text.error());
        }},
    Key{"http.trusted_proxies",
        [](Config &c, const toml::node &n) -> Result<void> {
          const toml::array *list = n.as_array();
          if (list == nullptr)
            return fail(Errc::bad_input, "expected a list of addresses in quotes");
          for (const toml::node &item : *list) {
            Result<std::string> address = text_of(item);
            if (!address)
              return std::unexpected(address.error());
            c.trusted_proxies.push_back(std::move(*address));
          }
          return {};
        }},
    Key{"http.cache_bytes",
        [](Config &c, const toml::node &n) {
          return put(c.cache_bytes, integer_of(n, 0, 1LL << 40));
        }},
    Key{"public.url", [](Config &c, const toml::node &n) { return put(c.public_url, url_of(n)); }},
    Key{"public.title", [](Config &c, const toml::node &n) { return put(c.title, text_of(n)); }},
    Key{"poll.interval",
        [](Config &c, const toml::node &n) -> Result<void> {
          const auto interval = duration_of(n);
          if (!interval)
            return std::unexpected(interval.error());
          if (interval->count() < 1)
            return fail(Errc::bad_input, "must be at least 1s");
          c.poll_interval = *interval;
          return {};
        }},
    Key{"poll.confirm",
        [](Config &c, const toml::node &n) { return put(c.confirm, integer_of(n, 1, 100)); }},
    Key{"poll.confirm_span",
        [](Config &c, const toml::node &n) { return put(c.confirm_span, duration_of(n)); }},
    Key{"poll.history",
        [](Config &c, const toml::node &n) { return put(c.history, history_of(n)); }},
    Key{"poll.concurrency",
        [](Config &c, const toml::node &n) { return put(c.concurrency, integer_of(n, 1, 64)); }},
    Key{"advisories.settle",
        [](Config &c, const toml::node &n) { return put(c.settle, duration_of(n)); }},
    Key{"advisories.prefix",
        [](Config &c, const toml::node &n) -> Result<void> {
          Result<std::string> text = text_of(n);
          if (!text)
            return std::unexpected(text.error());
          if (text->empty() || text->size() > 40 ||
              !std::ranges::all_of(*text, is_prefix_character))
            return fail(Errc::bad_input, "expected 1 to 40 letters, digits, '_', '.' or '-'");
          c.advisory_prefix = std::move(*text);
          return {};
        }},
    Key{"control.socket",
        [](Config &c, const toml::node &n) { return put(c.socket_path, text_of(n)); }},
    Key{"log.level",
        [](Config &c, const toml::node &n) -> Result<void> {
          Result<std::string> text = text_of(n);
          if (!text)
            return std::unexpected(text.error());
          static constexpr std::array<std::string_view, 4> words{"debug", "info", "warning",
                                                                 "error"};
          if (std::ranges::find(words, *text) == words.end())
            return fail(Errc::bad_input, fmt::format("'{}' is none of debug, info, warning, error",
                                                     plain_text(*text, 40)));
          c.log_level = std::move(*text);
          return {};
        }},
};

constexpr std::array<std::string_view, 4> watch_keys{"repo", "branch", "history", "publish"};
constexpr std::array<std::string_view, 5> rule_keys{"repo", "kind", "subject", "ignore", "level"};

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

template <class Names> std::string nearest(std::string_view wrong, const Names &names) {
  std::string_view best;
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for (const auto &name : names) {
    const std::size_t distance = edit_distance(wrong, name);
    if (distance < least) {
      least = distance;
      best = name;
    }
  }
  return std::string(best);
}

std::vector<std::string_view> all_key_paths() {
  std::vector<std::string_view> paths;
  for (const Key &key : keys)
    paths.push_back(key.path);
  return paths;
}

/// A rule's pattern must take at least one of the names that there are.
Result<void> check_pattern(const std::string &pattern, std::string_view what,
                           const std::vector<std::string_view> &names) {
  if (std::ranges::any_of(names,
                          [&](std::string_view name) { return diff::rule_matches(pattern, name); }))
    return {};
  return fail(Errc::bad_input, fmt::format("no {} is called '{}'; did you mean {}?", what,
                                           plain_text(pattern, 80), nearest(pattern, names)));
}

std::vector<std::string_view> kind_names() {
  std::vector<std::string_view> names;
  for (const ChangeKind &kind : change_kinds())
    names.push_back(kind.kind);
  return names;
}

/// One reading of one file: where it is named in errors, and what it fills.
struct Reader {
  std::string_view source;
  Config config;

  std::unexpected<Error> error_at(const toml::node &node, std::string_view key,
                                  std::string_view what) const {
    return fail(Errc::bad_input,
                fmt::format("{}:{}: {}: {}", source, node.source().begin.line, key, what));
  }

  Result<void> read_section(std::string_view section, const toml::table &table) {
    for (const auto &[name, node] : table) {
      const std::string path = fmt::format("{}.{}", section, name.str());
      const auto key = std::ranges::find(keys, path, &Key::path);
      if (key == keys.end())
        return error_at(
            node, plain_text(path, 80),
            fmt::format("unknown key; did you mean {}?", nearest(path, all_key_paths())));
      if (Result<void> set = key->set(config, node); !set)
        return error_at(node, path, set.error().message);
      config.given.push_back(path);
    }
    return {};
  }

  Result<void> read_watch(const toml::table &table) {
    store::Watch watch;
    watch.declared = true;
    watch.history = "";
    bool named = false;
    for (const auto &[name, node] : table) {
      const std::string path = fmt::format("watch.{}", name.str());
      Result<void> done;
      if (name == "repo") {
        const Result<std::string> text = text_of(node);
        if (!text)
          return error_at(node, path, text.error().message);
        const Result<RepoId> id = parse_repo_id(*text);
        if (!id)
          return error_at(node, path, id.error().message);
        watch.repo = id->str();
        named = true;
      } else if (name == "branch") {
        done = put(watch.branch, text_of(node));
        if (done && !is_branch_name(watch.branch))
          done = fail(Errc::bad_input, fmt::format("\"{}\" is no name that a branch can have",
                                                   plain_text(watch.branch)));
      } else if (name == "history") {
        done = put(watch.history, history_of(node));
      } else if (name == "publish") {
        const auto flag = node.value<bool>();
        if (!node.is_boolean() || !flag)
          return error_at(node, path, "expected true or false");
        watch.publish = *flag;
      } else {
        return error_at(
            node, plain_text(path, 80),
            fmt::format("unknown key; did you mean watch.{}?", nearest(name.str(), watch_keys)));
      }
      if (!done)
        return error_at(node, path, done.error().message);
    }
    if (!named)
      return error_at(table, "watch", "repo is missing: write repo = \"org/name\"");
    const auto same = [&](const store::Watch &other) {
      return other.repo == watch.repo && other.branch == watch.branch;
    };
    if (std::ranges::any_of(config.watches, same))
      return error_at(table, "watch",
                      fmt::format("{} at {} is watched twice: remove one of the two", watch.repo,
                                  watch.branch));
    config.watches.push_back(std::move(watch));
    return {};
  }

  Result<void> read_rule(const toml::table &table) {
    Rule rule;
    for (const auto &[name, node] : table) {
      const std::string path = fmt::format("rule.{}", name.str());
      Result<void> done;
      if (name == "repo") {
        done = put(rule.repo, text_of(node));
      } else if (name == "kind") {
        done = put(rule.kind, text_of(node));
        if (done)
          done = check_pattern(rule.kind, "kind", kind_names());
      } else if (name == "subject") {
        done = put(rule.subject, text_of(node));
        if (done)
          done = check_pattern(rule.subject, "subject", {subjects().begin(), subjects().end()});
      } else if (name == "ignore") {
        const auto flag = node.value<bool>();
        if (!node.is_boolean() || !flag)
          return error_at(node, path, "expected true or false");
        rule.ignore = *flag;
      } else if (name == "level") {
        const Result<std::string> word = text_of(node);
        if (!word)
          return error_at(node, path, word.error().message);
        rule.level = level_from(*word);
        if (!rule.level)
          return error_at(
              node, path,
              fmt::format("'{}' is none of low, medium, high, critical", plain_text(*word, 40)));
      } else {
        return error_at(
            node, plain_text(path, 80),
            fmt::format("unknown key; did you mean rule.{}?", nearest(name.str(), rule_keys)));
      }
      if (!done)
        return error_at(node, path, done.error().message);
    }
    if (rule.ignore == rule.level.has_value())
      return error_at(table, "rule", "say either ignore = true or level = \"...\", one of the two");
    config.rules.push_back(std::move(rule));
    return {};
  }

  Result<void> read_list(std::string_view name, const toml::node &node) {
    const toml::array *list = node.as_array();
    if (list == nullptr)
      return error_at(node, name, fmt::format("write it as [[{}]]", name));
    for (const toml::node &item : *list) {
      const toml::table *table = item.as_table();
      if (table == nullptr)
        return error_at(item, name, fmt::format("write it as [[{}]]", name));
      Result<void> read = name == "watch" ? read_watch(*table) : read_rule(*table);
      if (!read)
        return read;
    }
    return {};
  }

  Result<void> read(const toml::table &root) {
    static constexpr std::array<std::string_view, 10> sections{
        "hub", "state", "http", "public", "poll", "advisories", "control", "log", "watch", "rule"};
    for (const auto &[name, node] : root) {
      const std::string_view section = name.str();
      Result<void> done;
      if (section == "watch" || section == "rule") {
        done = read_list(section, node);
      } else if (std::ranges::find(sections, section) == sections.end()) {
        return error_at(node, plain_text(section, 80),
                        fmt::format("unknown key; did you mean [{}]?", nearest(section, sections)));
      } else if (const toml::table *table = node.as_table(); table != nullptr) {
        done = read_section(section, *table);
      } else {
        return error_at(node, section, fmt::format("write it as a section, [{}]", section));
      }
      if (!done)
        return done;
    }
    for (store::Watch &watch : config.watches)
      if (watch.history.empty())
        watch.history = config.history;
    return {};
  }
};

Result<std::string> read_file(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return fail(Errc::bad_input,
                fmt::format("{}: cannot be read: check that it exists and who may read it", path));
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::string trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' '))
    text.pop_back();
  return text;
}

/// A TOML basic string.
std::string toml_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      out.push_back('\\');
    if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      out.push_back(c);
  }
  return out + "\"";
}

} // namespace

Result<Config> parse_config(std::string_view text, std::string_view source) {
  const Result<toml::table> root = parse_toml(text, source);
  if (!root)
    return std::unexpected(root.error());
  Reader reader{source, {}};
  if (Result<void> read = reader.read(*root); !read)
    return std::unexpected(read.error());
  return std::move(reader.config);
}

Result<Config> load_config(const std::string &path) {
  const Result<std::string> text = read_file(path);
  if (!text)
    return std::unexpected(text.error());
  return parse_config(*text, path);
}

Environment process_environment() {
  return [](const std::string &name) -> std::optional<std::string> {
    const char *value = std::getenv(name.c_str());
    if (value == nullptr || *value == '\0')
      return std::nullopt;
    return std::string(value);
  };
}

void apply_environment(Config &config, const Environment &environment) {
  const auto given = [&](std::string_view key) {
    return std::ranges::find(config.given, key) != config.given.end();
  };
  if (auto endpoint = environment("HF_ENDPOINT"); endpoint && !given("hub.endpoint")) {
    while (endpoint->ends_with('/'))
      endpoint->pop_back();
    config.hub_endpoint = std::move(*endpoint);
  }
  if (auto socket = environment("HEADWATER_SOCKET"); socket && !given("control.socket"))
    config.socket_path = std::move(*socket);
  if (auto state = environment("STATE_DIRECTORY"); state && !given("state.folder"))
    config.state_folder = state->substr(0, state->find(':'));
  if (auto runtime = environment("RUNTIME_DIRECTORY");
      runtime && !given("control.socket") && !environment("HEADWATER_SOCKET"))
    config.socket_path = runtime->substr(0, runtime->find(':')) + "/control.sock";
}

Result<std::string> find_token(const Config &config, const Environment &environment) {
  if (const auto folder = environment("CREDENTIALS_DIRECTORY")) {
    const std::string path = *folder + "/hub-token";
    std::error_code error;
    if (std::filesystem::exists(path, error)) {
      const Result<std::string> text = read_file(path);
      if (!text)
        return std::unexpected(text.error());
      return trimmed(*text);
    }
  }
  if (!config.hub_token_file.empty()) {
    const Result<std::string> text = read_file(config.hub_token_file);
    if (!text)
      return wrap("hub.token_file", text.error());
    return trimmed(*text);
  }
  return trimmed(environment("HF_TOKEN").value_or(""));
}

std::string show_config(const Config &config) {
  std::string out;
  const auto line = [&](std::string_view text) { out.append(text).push_back('\n'); };
  line("[hub]");
  line("endpoint = " + toml_text(config.hub_endpoint));
  if (!config.hub_token_file.empty())
    line("token_file = " + toml_text(config.hub_token_file));
  line(fmt::format("requests_per_second = {:.3f}", config.hub_requests_per_second));
  line("\n[state]\nfolder = " + toml_text(config.state_folder));
  line("\n[http]\nlisten = " + toml_text(to_string(config.listen)));
  line("admin_listen = " + toml_text(to_string(config.admin_listen)));
  std::string proxies;
  for (const std::string &proxy : config.trusted_proxies)
    proxies += (proxies.empty() ? "" : ", ") + toml_text(proxy);
  line("trusted_proxies = [" + proxies + "]");
  line(fmt::format("cache_bytes = {}", config.cache_bytes));
  line("\n[public]");
  if (!config.public_url.empty())
    line("url = " + toml_text(config.public_url));
  line("title = " + toml_text(config.title));
  line(fmt::format("\n[poll]\ninterval = \"{}s\"\nconfirm = {}\nconfirm_span = \"{}s\"",
                   config.poll_interval.count(), config.confirm, config.confirm_span.count()));
  line("history = " + toml_text(config.history));
  line(fmt::format("concurrency = {}", config.concurrency));
  line("\n[advisories]\nprefix = " + toml_text(config.advisory_prefix));
  line(fmt::format("settle = \"{}s\"", config.settle.count()));
  line("\n[control]\nsocket = " + toml_text(config.socket_path));
  line("\n[log]\nlevel = " + toml_text(config.log_level));
  for (const store::Watch &watch : config.watches) {
    line("\n[[watch]]\nrepo = " + toml_text(watch.repo) + "\nbranch = " + toml_text(watch.branch) +
         "\nhistory = " + toml_text(watch.history));
    line(fmt::format("publish = {}", watch.publish));
  }
  for (const Rule &rule : config.rules) {
    line("\n[[rule]]\nrepo = " + toml_text(rule.repo) + "\nkind = " + toml_text(rule.kind) +
         "\nsubject = " + toml_text(rule.subject));
    line(rule.ignore ? "ignore = true"
                     : fmt::format("level = \"{}\"",
                                   headwater::to_string(rule.level.value_or(Level::low))));
  }
  return out;
}

Result<std::chrono::seconds> parse_duration(std::string_view text) {
  const auto bad = [&] {
    return fail(Errc::bad_input,
                fmt::format("'{}' is not a duration like \"90s\", \"10m\", \"2h\" or \"1d\"",
                            plain_text(text, 40)));
  };
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || number < 0 || number > 365LL * 86400)
    return bad();
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (unit.empty() || unit == "s")
    return std::chrono::seconds(number);
  if (unit == "m")
    return std::chrono::minutes(number);
  if (unit == "h")
    return std::chrono::hours(number);
  if (unit == "d")
    return std::chrono::days(number);
  return bad();
}

Result<ListenAddress> parse_listen(std::string_view text) {
  const auto bad = [&] {
    return fail(Errc::bad_input,
                fmt::format("'{}' is not an address like 127.0.0.1:8484 or [::1]:8484",
                            plain_text(text, 80)));
  };
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0)
    return bad();
  std::string_view host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']'))
    host = host.substr(1, host.size() - 2);
  const std::string_view digits = text.substr(colon + 1);
  unsigned port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc{} || end != digits.data() + digits.size() || port > 65535 || host.empty())
    return bad();
  return ListenAddress{std::string(host), static_cast<std::uint16_t>(port)};
}

std::string to_string(const ListenAddress &address) {
  const bool v6 = address.host.find(':') != std::string::npos;
  return v6 ? fmt::format("[{}]:{}", address.host, address.port)
            : fmt::format("{}:{}", address.host, address.port);
}

} // namespace headwater::service
