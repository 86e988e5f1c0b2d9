#include "daemon/jinja/jinja.hpp"
#include "tests/folders.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <zlib.h>

namespace headwater::jinja {
namespace {

namespace fs = std::filesystem;

fs::path shared_folder() {
  return headwater::test::shared_folder().value_or(fs::path());
}

std::string read_file(const fs::path &path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string read_gzip(const fs::path &path) {
  std::string out;
  gzFile file = gzopen(path.c_str(), "rb");
  char buffer[65536];
  for (int got = gzread(file, buffer, sizeof buffer); got > 0;
       got = gzread(file, buffer, sizeof buffer)) {
    out.append(buffer, static_cast<std::size_t>(got));
  }
  gzclose(file);
  return out;
}

const Clock oracle_time = std::chrono::sys_days{std::chrono::year{2026} / 1 / 2} +
                          std::chrono::hours{3} + std::chrono::minutes{4} + std::chrono::seconds{5};

TEST(Oracle, EveryTemplateRendersAsTransformersDoes) {
  fs::path folder = shared_folder() / "oracle" / "templates";
  if (!fs::exists(folder / "expected.jsonl.gz")) {
    GTEST_SKIP() << "no oracle here";
  }
  std::map<std::string, Variables> probes;
  OrderedJson all_probes = OrderedJson::parse(read_file(folder / "probes.json"), nullptr, false);
  for (const OrderedJson &probe : all_probes) {
    probes.emplace(probe["id"].get<std::string>(), make_variables(probe["variables"]));
  }
  std::map<std::string, std::expected<Template, TemplateError>> templates;
  int total = 0;
  int same = 0;
  std::istringstream lines(read_gzip(folder / "expected.jsonl.gz"));
  for (std::string line; std::getline(lines, line);) {
    OrderedJson row = OrderedJson::parse(line, nullptr, false);
    auto name = row["template"].get<std::string>();
    auto known = templates.find(name);
    if (known == templates.end()) {
      known =
          templates.emplace(name, parse(read_file(shared_folder() / "corpus" / "templates" / name)))
              .first;
    }
    std::string got;
    std::string want;
    std::expected<Rendered, TemplateError> rendered = std::unexpected(TemplateError{});
    if (known->second) {
      rendered =
          render(*known->second, probes.at(row["probe"].get<std::string>()), {}, oracle_time);
    } else {
      rendered = std::unexpected(known->second.error());
    }
    got = rendered ? "output: " + rendered->output
                   : rendered.error().error + ": " + rendered.error().message + " " +
                         std::to_string(rendered.error().line);
    want = row.contains("output")
               ? "output: " + row["output"].get<std::string>()
               : row["error"].get<std::string>() + ": " + row["message"].get<std::string>() + " " +
                     std::to_string(row.value("line", 0));
    ++total;
    same += static_cast<int>(got == want);
    if (got != want && total - same < 20) {
      ADD_FAILURE() << name << " with " << row["probe"] << "\n got " << got << "\nwant " << want;
    }
  }
  std::printf("%d of %d renderings as transformers has them\n", same, total);
  EXPECT_GT(total, 0);
  EXPECT_EQ(same, total);
}

} // namespace
} // namespace headwater::jinja
