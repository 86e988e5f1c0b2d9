#include "tests/estimator/oracle_data.hpp"

#include "tests/folders.hpp"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

#include <fmt/format.h>
#include <zlib.h>

namespace headwater::estimator::oracle {
namespace {

std::vector<std::string> split(const std::string &line, char separator) {
  std::vector<std::string> fields;
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = line.find(separator, begin);
    fields.push_back(line.substr(begin, end - begin));
    if (end == std::string::npos) {
      return fields;
    }
    begin = end + 1;
  }
}

std::string inflate_file(const std::filesystem::path &path) {
  std::string text;
  gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) {
    return text;
  }
  std::string chunk(1U << 16U, '\0');
  for (int got = gzread(file, chunk.data(), 1U << 16U); got > 0;
       got = gzread(file, chunk.data(), 1U << 16U)) {
    text.append(chunk, 0, static_cast<std::size_t>(got));
  }
  gzclose(file);
  return text;
}

} // namespace

void add_expanded(const std::string &name, const std::string &value,
                  std::map<std::string, std::string> &tensors) {
  const std::size_t open = name.find('{');
  const std::size_t dots = name.find("..", open == std::string::npos ? 0 : open);
  const std::size_t close = name.find('}', open == std::string::npos ? 0 : open);
  if (open == std::string::npos || dots == std::string::npos || close == std::string::npos) {
    tensors.emplace(name, value);
    return;
  }
  const int first = std::stoi(name.substr(open + 1, dots - open - 1));
  const int last = std::stoi(name.substr(dots + 2, close - dots - 2));
  for (int index = first; index <= last; ++index) {
    add_expanded(name.substr(0, open) + std::to_string(index) + name.substr(close + 1), value,
                 tensors);
  }
}

std::optional<std::filesystem::path> oracle_folder() {
  if (!headwater::test::shared_path("oracle/params.tsv"))
    return std::nullopt;
  return headwater::test::shared_folder();
}

std::string read_file(const std::filesystem::path &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<Row> read_rows(const std::filesystem::path &shared) {
  std::vector<Row> rows;
  std::ifstream file(shared / "oracle" / "params.tsv");
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    const std::vector<std::string> fields = split(line, '\t');
    if (fields.size() < 16) {
      continue;
    }
    Row row{fields[0], fields[1], fields[2], fields[3], std::stoll(fields[4]), fields[15], {}};
    const std::string stem = std::filesystem::path(row.config_file).filename().string();
    const bool corpus = row.source == "corpus";
    if (!corpus) {
      row.config_file = "oracle/" + row.config_file;
    }
    row.list = fmt::format("{}/oracle/tensors/{}{}.tsv.gz", shared.string(),
                           corpus ? "corpus--" : "", stem.substr(0, stem.size() - 5));
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<PredictionRow> read_prediction_rows(const std::filesystem::path &shared) {
  std::vector<PredictionRow> rows;
  std::ifstream file(shared / "oracle" / "mtp.tsv");
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    const std::vector<std::string> fields = split(line, '\t');
    if (fields.size() >= 6 && fields[5].starts_with("[[")) {
      rows.push_back({(fields[0].starts_with("corpus/") ? "" : "oracle/") + fields[0], fields[5]});
    }
  }
  return rows;
}

std::map<std::string, std::string> read_tensors(const std::filesystem::path &list) {
  std::map<std::string, std::string> tensors;
  std::istringstream text(inflate_file(list));
  std::string line;
  while (std::getline(text, line)) {
    const std::vector<std::string> fields = split(line, '\t');
    if (fields.size() >= 4 && fields[3] != "tied" && fields[0] != "name") {
      add_expanded(fields[0], fields[1] + (fields[3] == "buffer" ? " buffer" : ""), tensors);
    }
  }
  return tensors;
}

std::map<std::string, std::string> own_tensors(const Architecture &architecture, bool mtp) {
  std::map<std::string, std::string> tensors;
  const Result<std::vector<Tensor>> expanded = expand(architecture.tensors);
  if (!expanded) {
    return tensors;
  }
  for (const Tensor &tensor : *expanded) {
    if (tensor.mtp == mtp && tensor.tied_to.empty()) {
      tensors.emplace(tensor.name, fmt::format("{}{}", fmt::join(tensor.shape, ","),
                                               tensor.kind == TensorKind::buffer ? " buffer" : ""));
    }
  }
  return tensors;
}

} // namespace headwater::estimator::oracle
