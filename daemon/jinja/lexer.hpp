#pragma once

#include "daemon/jinja/value.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace headwater::jinja {

enum class TokenType : std::uint8_t {
  data,
  variable_begin,
  variable_end,
  block_begin,
  block_end,
  name,
  string,
  integer,
  real,
  add,
  assign,
  colon,
  comma,
  div,
  dot,
  eq,
  floordiv,
  gt,
  gteq,
  lbrace,
  lbracket,
  lparen,
  lt,
  lteq,
  mod,
  mul,
  ne,
  pipe,
  pow,
  rbrace,
  rbracket,
  rparen,
  semicolon,
  sub,
  tilde,
  failure, ///< the lexer stopped here: `text` says why
  eof,
};

struct Token {
  TokenType type;
  int line;
  std::string_view text; ///< name, data, digits or the decoded string; lives in the arena
};

/// A compile-time error of jinja2 on its way out of the parser.
struct CompileError {
  std::string_view error; ///< class name
  std::string message;
  int line;
};

/// A bound on parsing was crossed. Unlike an error of syntax it ends the lexer at once.
struct ParseLimit {
  std::string_view message;
  int line;
};

/// What jinja2's lexer makes of a template with trim_blocks and lstrip_blocks: tokens without white
/// space and comments. An error comes as a last token, so that an earlier error of the parser wins.
/// The source must be valid UTF-8.
/// Throws ParseLimit for more than `most` tokens.
std::vector<Token> tokenize(Arena &arena, std::string_view source, std::size_t most);

/// How messages name a kind of token: "end of statement block", "=".
std::string_view describe(TokenType type);

} // namespace headwater::jinja
