#include "daemon/jinja/lexer.hpp"

#include "daemon/jinja/text.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include <fmt/format.h>

namespace headwater::jinja {

namespace {

struct Operator {
  std::string_view text;
  TokenType type;
};

// Longest first, as the lexer tries them.
constexpr std::array<Operator, 26> operators{
    {{"//", TokenType::floordiv}, {"**", TokenType::pow},     {"==", TokenType::eq},
     {"!=", TokenType::ne},       {">=", TokenType::gteq},    {"<=", TokenType::lteq},
     {"+", TokenType::add},       {"-", TokenType::sub},      {"/", TokenType::div},
     {"*", TokenType::mul},       {"%", TokenType::mod},      {"~", TokenType::tilde},
     {"[", TokenType::lbracket},  {"]", TokenType::rbracket}, {"(", TokenType::lparen},
     {")", TokenType::rparen},    {"{", TokenType::lbrace},   {"}", TokenType::rbrace},
     {">", TokenType::gt},        {"<", TokenType::lt},       {"=", TokenType::assign},
     {".", TokenType::dot},       {":", TokenType::colon},    {"|", TokenType::pipe},
     {",", TokenType::comma},     {";", TokenType::semicolon}}};

bool digit(char c) {
  return c >= '0' && c <= '9';
}

/// One newline form, and no newline at the very end: what the lexer works on.
std::string_view normalise(Arena &arena, std::string_view source) {
  char *data = arena.take(source.size() + 1);
  std::size_t size = 0;
  for (std::size_t i = 0; i < source.size(); ++i) {
    char c = source[i];
    if (c == '\r') {
      i += static_cast<std::size_t>(i + 1 < source.size() && source[i + 1] == '\n');
      c = '\n';
    }
    data[size++] = c;
  }
  if (size > 0 && data[size - 1] == '\n') {
    --size;
  }
  return {data, size};
}

constexpr int most_named_characters = 200;

class Lexer {
public:
  Lexer(Arena &arena, std::string_view source, std::size_t most)
      : arena_(arena), source_(normalise(arena, source)), most_(most) {}

  std::vector<Token> run() {
    try {
      while (at_ < source_.size()) {
        root();
        check_count();
      }
      // The stream ends on the line of its last token.
      tokens_.push_back({TokenType::eof, tokens_.empty() ? 1 : tokens_.back().line, {}});
    } catch (const CompileError &error) {
      char *copy = arena_.take(error.message.size());
      std::memcpy(copy, error.message.data(), error.message.size());
      tokens_.push_back({TokenType::failure, error.line, {copy, error.message.size()}});
    }
    return std::move(tokens_);
  }

private:
  [[noreturn]] void fail(std::string message) const {
    throw CompileError{"TemplateSyntaxError", std::move(message), line_};
  }

  void count_lines(std::string_view text) {
    line_ += static_cast<int>(std::count(text.begin(), text.end(), '\n'));
  }

  bool follows(std::size_t at, std::string_view text) const {
    return source_.substr(at).starts_with(text);
  }

  std::size_t skip_space(std::size_t at) const {
    while (at < source_.size()) {
      std::size_t next = at;
      if (!is_space(next_code_point(source_, next))) {
        break;
      }
      at = next;
    }
    return at;
  }

  /// `{%[-+]? raw -?%}` at a block start: where it ends, 0 when it is none.
  std::size_t raw_begin(std::size_t at) const {
    at += 2;
    if (at < source_.size() && (source_[at] == '-' || source_[at] == '+')) {
      ++at;
    }
    at = skip_space(at);
    if (!follows(at, "raw")) {
      return 0;
    }
    at = skip_space(at + 3);
    if (follows(at, "-%}")) {
      return skip_space(at + 3);
    }
    return follows(at, "%}") ? at + 2 : 0;
  }

  void emit_data(std::string_view text) {
    if (!text.empty()) {
      tokens_.push_back({TokenType::data, line_, text});
    }
  }

  /// Text before a tag, with the white space that the tag's sign and lstrip_blocks take away.
  void text_before(std::string_view text, char sign, bool variable) {
    std::string_view kept = text;
    if (sign == '-') {
      kept = trim_right(text);
    } else if (sign != '+' && !variable) {
      std::size_t start = text.rfind('\n');
      start = start == std::string_view::npos ? 0 : start + 1;
      if ((start > 0 || line_starting_) && start < text.size() &&
          trim(text.substr(start)).empty()) {
        kept = text.substr(0, start);
      }
    }
    emit_data(kept);
    count_lines(sign == '-' ? text : kept);
  }

  void root() {
    std::size_t tag = at_;
    for (;; ++tag) {
      tag = source_.find('{', tag);
      if (tag == std::string_view::npos || tag + 1 >= source_.size()) {
        emit_data(source_.substr(at_));
        count_lines(source_.substr(at_));
        at_ = source_.size();
        return;
      }
      char kind = source_[tag + 1];
      if (kind == '{' || kind == '%' || kind == '#') {
        break;
      }
    }
    char kind = source_[tag + 1];
    std::size_t after = tag + 2;
    char sign = after < source_.size() && (source_[after] == '-' || source_[after] == '+')
                    ? source_[after]
                    : '\0';
    after += static_cast<std::size_t>(sign != '\0');
    text_before(source_.substr(at_, tag - at_), sign, kind == '{');
    if (kind == '%') {
      if (std::size_t end = raw_begin(tag); end != 0) {
        line_starting_ = source_[end - 1] == '\n';
        count_lines(source_.substr(tag, end - tag));
        at_ = end;
        raw_body();
        return;
      }
    }
    at_ = after;
    line_starting_ = false;
    if (kind == '#') {
      comment();
    } else {
      tokens_.push_back(
          {kind == '{' ? TokenType::variable_begin : TokenType::block_begin, line_, {}});
      tag_body(kind == '{');
    }
  }

  /// Where a block, comment or raw end at `at` stops: `sign` is + or - before it.
  std::size_t block_end(std::size_t at, std::string_view close) const {
    if (follows(at, "+") && follows(at + 1, close)) {
      return at + 1 + close.size();
    }
    if (follows(at, "-") && follows(at + 1, close)) {
      return skip_space(at + 1 + close.size());
    }
    if (follows(at, close)) {
      at += close.size();
      return at + static_cast<std::size_t>(follows(at, "\n"));
    }
    return 0;
  }

  void finish(std::size_t end) {
    line_starting_ = source_[end - 1] == '\n';
    count_lines(source_.substr(at_, end - at_));
    at_ = end;
  }

  void comment() {
    std::size_t close = source_.find("#}", at_);
    if (close == std::string_view::npos) {
      if (at_ >= source_.size()) {
        return;
      }
      fail("Missing end of comment tag");
    }
    std::size_t from =
        close > at_ && (source_[close - 1] == '-' || source_[close - 1] == '+') ? close - 1 : close;
    finish(block_end(from, "#}"));
  }

  void raw_body() {
    for (std::size_t tag = source_.find("{%", at_); tag != std::string_view::npos;
         tag = source_.find("{%", tag + 1)) {
      std::size_t after = tag + 2;
      char sign = after < source_.size() && (source_[after] == '-' || source_[after] == '+')
                      ? source_[after]
                      : '\0';
      after = skip_space(after + static_cast<std::size_t>(sign != '\0'));
      if (!follows(after, "endraw")) {
        continue;
      }
      std::size_t end = block_end(skip_space(after + 6), "%}");
      if (end == 0) {
        continue;
      }
      text_before(source_.substr(at_, tag - at_), sign, false);
      at_ = tag;
      finish(end);
      return;
    }
    if (at_ < source_.size()) {
      fail("Missing end of raw directive");
    }
  }

  void check_count() const {
    if (tokens_.size() > most_) {
      throw ParseLimit{"the template has too many tokens", line_};
    }
  }

  void tag_body(bool variable) {
    std::string closers;
    while (at_ < source_.size()) {
      check_count();
      if (closers.empty()) {
        std::size_t end = 0;
        if (!variable) {
          end = block_end(at_, "%}");
        } else if (follows(at_, "-}}")) {
          end = skip_space(at_ + 3);
        } else if (follows(at_, "}}")) {
          end = at_ + 2;
        }
        if (end != 0) {
          tokens_.push_back({variable ? TokenType::variable_end : TokenType::block_end, line_, {}});
          finish(end);
          return;
        }
      }
      if (std::size_t end = skip_space(at_); end != at_) {
        finish(end);
        continue;
      }
      if (number() || name() || string()) {
        continue;
      }
      operation(closers);
    }
  }

  /// Length of `digits(_digits)*` at `at`.
  std::size_t digit_run(std::size_t at) const {
    std::size_t start = at;
    while (at < source_.size() &&
           (digit(source_[at]) || (source_[at] == '_' && at > start && digit(source_[at - 1]) &&
                                   at + 1 < source_.size() && digit(source_[at + 1])))) {
      ++at;
    }
    return at - start;
  }

  void emit_number(TokenType type, std::size_t size) {
    tokens_.push_back({type, line_, source_.substr(at_, size)});
    at_ += size;
    line_starting_ = false;
  }

  bool number() {
    if (!digit(source_[at_])) {
      return false;
    }
    std::size_t whole = digit_run(at_);
    bool after_dot = at_ > 0 && source_[at_ - 1] == '.';
    if (!after_dot) {
      std::size_t end = at_ + whole;
      bool fraction = false;
      if (follows(end, ".")) {
        if (std::size_t size = digit_run(end + 1); size != 0) {
          end += 1 + size;
          fraction = true;
        }
      }
      if (end < source_.size() && (source_[end] | 0x20) == 'e') {
        std::size_t exponent = end + 1;
        exponent += static_cast<std::size_t>(follows(exponent, "+") || follows(exponent, "-"));
        if (std::size_t size = digit_run(exponent); size != 0) {
          emit_number(TokenType::real, exponent + size - at_);
          return true;
        }
      }
      if (fraction) {
        emit_number(TokenType::real, end - at_);
        return true;
      }
    }
    if (source_[at_] == '0') {
      char mark = at_ + 1 < source_.size() ? static_cast<char>(source_[at_ + 1] | 0x20) : '\0';
      auto fits = [&](char c) {
        char low = static_cast<char>(c | 0x20);
        return mark == 'b'   ? c == '0' || c == '1'
               : mark == 'o' ? c >= '0' && c <= '7'
                             : digit(c) || (low >= 'a' && low <= 'f');
      };
      if (mark == 'b' || mark == 'o' || mark == 'x') {
        std::size_t end = at_ + 2;
        while (end < source_.size() &&
               (fits(source_[end]) ||
                (source_[end] == '_' && end + 1 < source_.size() && fits(source_[end + 1])))) {
          ++end;
        }
        if (end > at_ + 2) {
          emit_number(TokenType::integer, end - at_);
          return true;
        }
      }
      std::size_t zeros = 0;
      while (zeros < whole && (source_[at_ + zeros] == '0' ||
                               (source_[at_ + zeros] == '_' && source_[at_ + zeros + 1] == '0'))) {
        ++zeros;
      }
      whole = zeros;
    }
    emit_number(TokenType::integer, whole);
    return true;
  }

  bool name() {
    std::size_t end = at_;
    while (end < source_.size()) {
      char c = source_[end];
      if (digit(c) || c == '_' || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z')) {
        ++end;
        continue;
      }
      if (static_cast<unsigned char>(c) < 0x80) {
        break;
      }
      std::size_t next = end;
      char32_t point = next_code_point(source_, next);
      std::string_view one = source_.substr(end, next - end);
      if (!is_word(point) && !is_identifier("_" + std::string(one))) {
        break;
      }
      end = next;
    }
    if (end == at_) {
      return false;
    }
    std::string_view text = source_.substr(at_, end - at_);
    if (!is_identifier(text)) {
      fail("Invalid character in identifier");
    }
    tokens_.push_back({TokenType::name, line_, text});
    at_ = end;
    line_starting_ = false;
    return true;
  }

  bool string() {
    char quote = source_[at_];
    if (quote != '\'' && quote != '"') {
      return false;
    }
    std::size_t end = at_ + 1;
    bool escapes = false;
    while (end < source_.size() && source_[end] != quote) {
      if (source_[end] == '\\') {
        escapes = true;
        ++end;
      }
      ++end;
    }
    if (end >= source_.size()) {
      return false;
    }
    std::string_view body = source_.substr(at_ + 1, end - at_ - 1);
    tokens_.push_back({TokenType::string, line_, escapes ? unescape(body) : body});
    finish(end + 1);
    return true;
  }

  /// Python's unicode-escape decoding of a literal's body.
  std::string_view unescape(std::string_view body) {
    std::string out;
    for (std::size_t i = 0; i < body.size(); ++i) {
      if (body[i] != '\\') {
        out += body[i];
        continue;
      }
      char c = body[++i];
      static constexpr std::string_view plain = "\\'\"abfnrtv";
      static constexpr std::string_view meaning = "\\'\"\a\b\f\n\r\t\v";
      if (std::size_t at = plain.find(c); at != std::string_view::npos) {
        out += meaning[at];
      } else if (c == '\n') {
        continue;
      } else if (c >= '0' && c <= '7') {
        unsigned value = 0;
        std::size_t digits = 0;
        while (digits < 3 && i < body.size() && body[i] >= '0' && body[i] <= '7') {
          value = value * 8 + static_cast<unsigned>(body[i++] - '0');
          ++digits;
        }
        --i;
        append_code_point(out, value);
      } else if (c == 'x' || c == 'u' || c == 'U') {
        std::size_t size = c == 'x' ? 2 : c == 'u' ? 4 : 8;
        std::uint64_t value = 0;
        std::size_t digits = 0;
        for (; digits < size && i + 1 + digits < body.size(); ++digits) {
          char h = body[i + 1 + digits];
          char low = static_cast<char>(h | 0x20);
          if (!digit(h) && !(low >= 'a' && low <= 'f')) {
            break;
          }
          value = value * 16 + static_cast<unsigned>(digit(h) ? h - '0' : low - 'a' + 10);
        }
        if (digits < size) {
          fail(c == 'x'   ? "truncated \\xXX escape"
               : c == 'u' ? "truncated \\uXXXX escape"
                          : "truncated \\UXXXXXXXX escape");
        }
        if (value > 0x10FFFF) {
          fail("illegal Unicode character");
        }
        append_code_point(out, static_cast<char32_t>(value));
        i += size;
      } else if (c == 'N') {
        std::size_t close = body.find('}', i);
        if (i + 1 >= body.size() || body[i + 1] != '{' || close == std::string_view::npos ||
            close == i + 2) {
          fail("malformed \\N character escape");
        }
        if (++names_ > most_named_characters) {
          throw ParseLimit{"the template names too many characters", line_};
        }
        char32_t point = code_point_named(body.substr(i + 2, close - i - 2));
        if (point == 0) {
          fail("unknown Unicode character name");
        }
        append_code_point(out, point);
        i = close;
      } else if (static_cast<unsigned char>(c) >= 0x80) {
        // The literal went through ASCII with backslash escapes first, so the backslash now meets
        // one.
        char32_t point = next_code_point(body, i);
        --i;
        out += point < 0x100     ? fmt::format("\\x{:02x}", static_cast<unsigned>(point))
               : point < 0x10000 ? fmt::format("\\u{:04x}", static_cast<unsigned>(point))
                                 : fmt::format("\\U{:08x}", static_cast<unsigned>(point));
      } else {
        out += '\\';
        out += c;
      }
    }
    char *copy = arena_.take(out.size());
    std::memcpy(copy, out.data(), out.size());
    return {copy, out.size()};
  }

  void operation(std::string &closers) {
    const auto *found = std::find_if(operators.begin(), operators.end(),
                                     [&](const Operator &op) { return follows(at_, op.text); });
    if (found == operators.end()) {
      std::size_t next = at_;
      next_code_point(source_, next);
      std::string shown;
      shown = fmt::format("{}", source_.substr(at_, next - at_));
      std::string quoted = shown == "'" ? "\"'\"" : shown == "\\" ? "'\\\\'" : "'" + shown + "'";
      fail(fmt::format("unexpected char {} at {}", quoted,
                       count_code_points(source_.substr(0, at_))));
    }
    char c = found->text[0];
    if (c == '(' || c == '[' || c == '{') {
      closers += c == '(' ? ')' : c == '[' ? ']' : '}';
    } else if (c == ')' || c == ']' || c == '}') {
      if (closers.empty()) {
        fail(fmt::format("unexpected '{}'", c));
      }
      char expected = closers.back();
      closers.pop_back();
      if (expected != c) {
        fail(fmt::format("unexpected '{}', expected '{}'", c, expected));
      }
    }
    tokens_.push_back({found->type, line_, found->text});
    at_ += found->text.size();
    line_starting_ = false;
  }

  Arena &arena_;
  std::string_view source_;
  std::size_t most_;
  std::size_t at_ = 0;
  int line_ = 1;
  bool line_starting_ = true;
  int names_ = 0; ///< \N{...} escapes, each of which is a search
  std::vector<Token> tokens_;
};

} // namespace

std::vector<Token> tokenize(Arena &arena, std::string_view source, std::size_t most) {
  return Lexer(arena, source, most).run();
}

std::string_view describe(TokenType type) {
  switch (type) {
  case TokenType::data:
    return "template data / text";
  case TokenType::variable_begin:
    return "begin of print statement";
  case TokenType::variable_end:
    return "end of print statement";
  case TokenType::block_begin:
    return "begin of statement block";
  case TokenType::block_end:
    return "end of statement block";
  case TokenType::name:
    return "name";
  case TokenType::string:
    return "string";
  case TokenType::integer:
    return "integer";
  case TokenType::real:
    return "float";
  case TokenType::failure:
  case TokenType::eof:
    return "end of template";
  default:
    for (const Operator &op : operators) {
      if (op.type == type) {
        return op.text;
      }
    }
    return "";
  }
}

} // namespace headwater::jinja
