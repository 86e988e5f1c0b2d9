// Renders one JSON line after another from standard input, {"template", "variables"}, and answers
// each with
// {"output", "spans"} or {"error", "message", "line"}: what the comparison with the real jinja2
// runs. A task that is "timed" is answered with its "milliseconds" of processor time too.

#include "daemon/jinja/jinja.hpp"

#include <ctime>
#include <iostream>
#include <string>

#include <nlohmann/json.hpp>

int main() {
  using namespace headwater;
  std::string line;
  const jinja::Clock now = std::chrono::sys_days{std::chrono::year{2026} / 1 / 2} +
                           std::chrono::hours{3} + std::chrono::minutes{4} +
                           std::chrono::seconds{5};
  while (std::getline(std::cin, line)) {
    OrderedJson answer;
    OrderedJson task = OrderedJson::parse(line, nullptr, false);
    const std::clock_t begin = std::clock();
    auto parsed = jinja::parse(task["template"].get<std::string>());
    jinja::TemplateError error;
    bool good = parsed.has_value();
    if (good) {
      auto rendered = jinja::render(*parsed, jinja::make_variables(task["variables"]), {},
                                    now + std::chrono::microseconds{task.value("microseconds", 0)});
      good = rendered.has_value();
      if (good) {
        answer["output"] = rendered->output;
        answer["spans"] = OrderedJson::array();
        for (const jinja::Span &span : rendered->generation) {
          answer["spans"].push_back({span.begin, span.end});
        }
      } else {
        error = rendered.error();
      }
    } else {
      error = parsed.error();
    }
    if (task.value("timed", false)) {
      answer["milliseconds"] = 1e3 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    }
    if (!good) {
      answer["error"] = error.error;
      answer["message"] = error.message;
      if (error.line != 0) {
        answer["line"] = error.line;
      }
    }
    std::cout << answer.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n'
              << std::flush;
  }
  return 0;
}
