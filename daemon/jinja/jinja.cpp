#include "daemon/jinja/jinja.hpp"

#include "daemon/jinja/interpreter.hpp"
#include "daemon/jinja/lexer.hpp"
#include "daemon/jinja/text.hpp"

#include <algorithm>
#include <new>

#include <fmt/format.h>

namespace headwater::jinja {

namespace {

constexpr std::string_view limit_class = "LimitExceeded";

TemplateError limit_error(std::string message, int near_line = 0) {
  return {std::string(limit_class), std::move(message), 0, near_line, true};
}

int line_at(std::string_view source, std::size_t offset) {
  return 1 + static_cast<int>(std::count(
                 source.begin(), source.begin() + static_cast<std::ptrdiff_t>(offset), '\n'));
}

} // namespace

Variables::Variables() : set_(std::make_shared<const VariableSet>()) {}

std::expected<Template, TemplateError> parse(std::string_view source, const Limits &limits) {
  if (source.size() > limits.source_bytes) {
    return std::unexpected(
        limit_error(fmt::format("the template is longer than {} bytes", limits.source_bytes),
                    line_at(source, limits.source_bytes)));
  }
  if (!valid_utf8(source)) {
    std::size_t good = 0;
    while (good < source.size() &&
           valid_utf8(source.substr(0, good + 1).substr(source.substr(0, good).rfind('\n') + 1))) {
      ++good;
    }
    int line = line_at(source, good);
    return std::unexpected(
        TemplateError{"UnicodeDecodeError", "the template is not valid UTF-8", line, line, false});
  }
  try {
    auto program = std::make_shared<Program>(
        std::max<std::size_t>(source.size() * 400, std::size_t{8} << 20U), limits);
    parse_into(*program, source);
    resolve_names(*program);
    return Template(std::move(program));
  } catch (const ParseLimit &limit) {
    return std::unexpected(limit_error(std::string(limit.message), limit.line));
  } catch (const CompileError &error) {
    bool deep = error.error == "RecursionError";
    return std::unexpected(
        TemplateError{std::string(error.error), error.message, error.line, error.line, deep});
  } catch (const Raise &error) {
    return std::unexpected(
        TemplateError{std::string(name_of(error.error)), error.message, 0, 0, false});
  } catch (const OutOfMemory &) {
    return std::unexpected(limit_error("the template needs too much memory"));
  } catch (const std::bad_alloc &) {
    return std::unexpected(limit_error("the template needs too much memory"));
  }
}

std::expected<Rendered, TemplateError>
render(const Template &chat_template, const Variables &variables, const Limits &limits, Clock now) {
  int line = 0;
  try {
    Interpreter interpreter(chat_template.program(), variables.set(), limits, now);
    try {
      interpreter.run();
      return interpreter.take();
    } catch (...) {
      line = interpreter.line();
      throw;
    }
  } catch (const Raise &error) {
    if (error.error == ErrorClass::Limit) {
      return std::unexpected(limit_error(error.message, line));
    }
    bool deep = error.error == ErrorClass::RecursionError;
    return std::unexpected(
        TemplateError{std::string(name_of(error.error)), error.message, 0, line, deep});
  } catch (const OutOfMemory &) {
    return std::unexpected(limit_error("the template needs too much memory", line));
  } catch (const std::bad_alloc &) {
    return std::unexpected(limit_error("the template needs too much memory", line));
  }
}

} // namespace headwater::jinja
