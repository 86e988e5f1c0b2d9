// Writes the pages of docs/ that are made from tables of the program, so that the docs cannot say
// anything else.
//   write_docs FOLDER           writes them
//   write_docs --check FOLDER   exits 1 and names each page that is not what would be written
#include "schemas/change.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace headwater {
namespace {

std::string change_kinds_page() {
  std::string text = "# What Headwater tells\n\n"
                     "Every change has a kind. The kind alone decides the subject, the impact and "
                     "the level; an advisory is made for a\n"
                     "revision from level `medium`. This page is made from "
                     "`schemas/change_kinds.cpp`: `tools/check docs --write`\n"
                     "makes it again after a change of the table.\n\n"
                     "Impact: `breaking` a normal user stops working, `security` other code runs "
                     "or history was rewritten, `access`\n"
                     "licence, gate, removal or rename, `behaviour` it runs and answers "
                     "differently, `cost` memory, price or speed,\n"
                     "`cosmetic` nothing that runs can tell. Level: `critical` fails for all at "
                     "load or request, `high` wrong answers, other\n"
                     "code or other weights for most, `medium` some must act or test again, `low` "
                     "told, never an advisory.\n";
  std::string_view subject;
  for (const ChangeKind &kind : change_kinds()) {
    const std::string_view group = kind.subject.substr(0, kind.subject.find('.'));
    if (group != subject)
      text += fmt::format("\n## {}\n\n| Kind | Subject | Impact | Level | Meaning | Example "
                          "|\n|---|---|---|---|---|---|\n",
                          group);
    subject = group;
    const auto cell = [](std::string_view value) {
      std::string escaped;
      for (const char c : value)
        escaped += c == '|' ? std::string("\\|") : std::string(1, c);
      return escaped;
    };
    text += fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", kind.kind, kind.subject,
                        to_string(kind.impact), to_string(kind.level), cell(kind.meaning),
                        cell(kind.example));
  }
  return text;
}

using Page = std::pair<std::string_view, std::string>;

std::vector<Page> pages() {
  return {{"changes.md", change_kinds_page()}};
}

std::string read_file(const std::filesystem::path &path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

int run(const std::filesystem::path &folder, bool check) {
  int status = 0;
  for (const auto &[name, text] : pages()) {
    const std::filesystem::path path = folder / name;
    if (read_file(path) == text)
      continue;
    if (check) {
      fmt::print(
          stderr,
          "docs/{} is not what the tables say: run `tools/check docs --write` and commit it\n",
          name);
      status = 1;
      continue;
    }
    std::ofstream out(path, std::ios::binary);
    out << text;
    if (!out.flush()) {
      fmt::print(stderr, "cannot write {}\n", path.string());
      status = 3;
    }
  }
  return status;
}

} // namespace
} // namespace headwater

int main(int count, char **arguments) {
  const std::vector<std::string_view> given(arguments + 1, arguments + count);
  const bool check = !given.empty() && given[0] == "--check";
  if (given.size() != (check ? 2U : 1U)) {
    fmt::print(stderr, "write_docs [--check] FOLDER\n");
    return 2;
  }
  return headwater::run(given.back(), check);
}
