#include "daemon/read/python_source.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace headwater::read {
namespace {

using Reach = std::pair<std::string_view, std::string_view>;

constexpr auto module_reach = std::to_array<Reach>({
    {"socket", "network"},
    {"requests", "network"},
    {"urllib", "network"},
    {"urllib3", "network"},
    {"http", "network"},
    {"httpx", "network"},
    {"aiohttp", "network"},
    {"ftplib", "network"},
    {"smtplib", "network"},
    {"paramiko", "network"},
    {"websocket", "network"},
    {"websockets", "network"},
    {"telnetlib", "network"},
    {"xmlrpc", "network"},
    {"grpc", "network"},
    {"boto3", "network"},
    {"subprocess", "subprocess"},
    {"pty", "subprocess"},
    {"multiprocessing", "subprocess"},
    {"pexpect", "subprocess"},
    {"pickle", "pickle"},
    {"dill", "pickle"},
    {"cloudpickle", "pickle"},
    {"shelve", "pickle"},
    {"marshal", "pickle"},
    {"joblib", "pickle"},
    {"ctypes", "native code"},
    {"cffi", "native code"},
    {"importlib", "eval"},
    {"runpy", "eval"},
    {"code", "eval"},
});

constexpr auto call_reach = std::to_array<Reach>({
    {"eval", "eval"},
    {"exec", "eval"},
    {"compile", "eval"},
    {"__import__", "eval"},
    {"os.system", "subprocess"},
    {"os.popen", "subprocess"},
    {"os.execv", "subprocess"},
    {"os.spawnl", "subprocess"},
    {"torch.load", "pickle"},
    {"np.load", "pickle"},
    {"numpy.load", "pickle"},
    {"load_inline", "native code"},
});

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

/// Copies `text` with comments dropped; strings stay for comparison, and go for the search for
/// calls.
struct Stripped {
  std::string code;            ///< without comments
  std::string without_strings; ///< and with the inside of strings dropped
};

Stripped strip(std::string_view text) {
  Stripped out;
  const auto put = [&](char c) {
    out.code += c;
    out.without_strings += c;
  };
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '#') {
      while (i < text.size() && text[i] != '\n')
        ++i;
    } else if (c == '"' || c == '\'') {
      const bool triple = text.substr(i, 3) == std::string(3, c);
      const std::size_t quote = triple ? 3 : 1;
      std::size_t j = i + quote;
      while (j < text.size()) {
        if (text[j] == '\\') {
          j += 2;
        } else if (triple ? text.substr(j, 3) == std::string(3, c) : text[j] == c) {
          j += quote;
          break;
        } else if (!triple && text[j] == '\n') {
          break;
        } else {
          ++j;
        }
      }
      j = std::min(j, text.size());
      out.code += text.substr(i, j - i);
      out.without_strings += "''";
      i = j;
    } else {
      put(c);
      ++i;
    }
  }
  return out;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\f");
  if (first == std::string_view::npos)
    return {};
  return text.substr(first, text.find_last_not_of(" \t\r\f") - first + 1);
}

std::string_view leading_word(std::string_view text) {
  std::size_t n = 0;
  while (n < text.size() && (is_word(text[n]) || text[n] == '.'))
    ++n;
  return text.substr(0, n);
}

std::string_view top_module(std::string_view name) {
  const std::size_t start = std::min(name.find_first_not_of('.'), name.size());
  return name.substr(0, std::min(name.find('.', start), name.size()));
}

void add_imports(std::string_view line, std::vector<std::string> &modules) {
  line = trimmed(line);
  if (line.starts_with("from ")) {
    const std::string_view name = leading_word(trimmed(line.substr(5)));
    if (!name.empty())
      modules.emplace_back(top_module(name));
  } else if (line.starts_with("import ")) {
    line.remove_prefix(7);
    while (!line.empty()) {
      const std::size_t comma = std::min(line.find(','), line.size());
      const std::string_view name = leading_word(trimmed(line.substr(0, comma)));
      if (!name.empty())
        modules.emplace_back(top_module(name));
      line.remove_prefix(std::min(comma + 1, line.size()));
    }
  }
}

bool calls(std::string_view code, std::string_view name) {
  for (std::size_t at = code.find(name); at != std::string_view::npos;
       at = code.find(name, at + 1)) {
    const char before = at > 0 ? code[at - 1] : ' ';
    const std::size_t after = at + name.size();
    if (!is_word(before) && before != '.' && after < code.size() && code[after] == '(')
      return true;
  }
  return false;
}

void sort_unique(std::vector<std::string> &items) {
  std::ranges::sort(items);
  items.erase(std::unique(items.begin(), items.end()), items.end());
}

template <class Take> void each_line(std::string_view text, Take take) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    take(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

} // namespace

PythonFacts read_python(std::string_view text) {
  PythonFacts facts;
  const Stripped stripped = strip(text);
  each_line(stripped.code, [&](std::string_view line) {
    const std::size_t last = line.find_last_not_of(" \t\r\f");
    if (last != std::string_view::npos)
      facts.lines.emplace_back(line.substr(0, last + 1));
  });
  each_line(stripped.without_strings, [&](std::string_view line) {
    while (!line.empty()) {
      const std::size_t semicolon = std::min(line.find(';'), line.size());
      add_imports(line.substr(0, semicolon), facts.modules);
      line.remove_prefix(std::min(semicolon + 1, line.size()));
    }
  });
  sort_unique(facts.modules);
  for (const auto &[module, reach] : module_reach)
    if (std::ranges::binary_search(facts.modules, module))
      facts.reaches.emplace_back(reach);
  for (const auto &[name, reach] : call_reach)
    if (calls(stripped.without_strings, name))
      facts.reaches.emplace_back(reach);
  sort_unique(facts.reaches);
  return facts;
}

} // namespace headwater::read
