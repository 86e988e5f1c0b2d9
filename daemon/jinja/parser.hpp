#pragma once

#include "daemon/jinja/ast.hpp"
#include "daemon/jinja/lexer.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

namespace headwater::jinja {

/// jinja2's recursive descent over the tokens of one template. Its methods throw CompileError.
class Parser {
public:
  Parser(Program &program, std::string_view source)
      : program_(program), arena_(program.arena),
        tokens_(tokenize(program.arena, source, program.limits.tokens)) {
    check_token();
  }

  Nodes parse() { return keep(arena_, statements_until(nullptr)); }

private:
  using Type = TokenType;
  using Words = std::vector<std::string_view>;
  using NodeList = std::vector<Node *>;

  // Python stops jinja2's own recursive descent near these depths.
  static constexpr int max_expression_depth = 70;
  static constexpr int max_statement_depth = 200;
  static constexpr int max_tree_depth = 300;

  struct DepthGuard {
    DepthGuard(int &of, int limit) : depth(of) {
      if (++depth > limit) {
        throw CompileError{"RecursionError", "maximum recursion depth exceeded", 0};
      }
    }
    DepthGuard(const DepthGuard &) = delete;
    DepthGuard &operator=(const DepthGuard &) = delete;
    ~DepthGuard() { --depth; }
    int &depth;
  };

  // ---- the token stream

  void check_token() const {
    if (current().type == Type::failure) {
      throw CompileError{"TemplateSyntaxError", std::string(current().text), current().line};
    }
  }
  const Token &current() const { return tokens_[at_]; }
  const Token &look() const {
    const Token &next = tokens_[std::min(at_ + 1, tokens_.size() - 1)];
    if (next.type == Type::failure) {
      throw CompileError{"TemplateSyntaxError", std::string(next.text), next.line};
    }
    return next;
  }
  const Token &next() {
    const Token &token = tokens_[at_];
    if (token.type != Type::eof) {
      ++at_;
      check_token();
    }
    return token;
  }
  bool is(Type type) const { return current().type == type; }
  bool is_name(std::string_view word) const { return is(Type::name) && current().text == word; }
  bool skip(Type type) {
    bool here = is(type);
    if (here) {
      next();
    }
    return here;
  }
  bool skip_name(std::string_view word) {
    bool here = is_name(word);
    if (here) {
      next();
    }
    return here;
  }
  [[noreturn]] void fail(std::string message, int line = 0) const {
    throw CompileError{"TemplateSyntaxError", std::move(message),
                       line == 0 ? current().line : line};
  }
  static std::string describe_token(const Token &token) {
    return std::string(token.type == Type::name ? token.text : describe(token.type));
  }
  static std::string quoted(std::string_view text) {
    std::string out;
    append_text_repr(out, text);
    return out;
  }
  [[noreturn]] void fail_expected(std::string_view what) const {
    if (is(Type::eof)) {
      fail(fmt::format("unexpected end of template, expected {}.", quoted(what)));
    }
    fail(fmt::format("expected token {}, got {}", quoted(what), quoted(describe_token(current()))));
  }
  const Token &expect(Type type) {
    if (!is(type)) {
      fail_expected(describe(type));
    }
    return next();
  }
  void expect_name(std::string_view word) {
    if (!is_name(word)) {
      fail_expected(word);
    }
    next();
  }

  // ---- nodes

  const Str *intern(std::string_view text) {
    auto found = names_.find(text);
    if (found != names_.end()) {
      return found->second;
    }
    if (names_.size() >= program_.limits.names) {
      throw ParseLimit{"the template has too many different names and texts", current().line};
    }
    const Str *name = share_str(arena_, text, false);
    name->hash = static_cast<std::uint32_t>(hash_text(text));
    names_.emplace(text, name);
    return name;
  }
  const Str *intern_copy(std::string_view text) {
    auto found = names_.find(text);
    return found != names_.end() ? found->second : intern(make_str(arena_, text)->view());
  }
  Node *make(Op op, int line) {
    Node *node = arena_.make<Node>();
    node->op = op;
    node->line = line;
    return node;
  }
  Node *make(Op op, int line, Node *a, Node *b = nullptr, Node *c = nullptr) {
    Node *node = make(op, line);
    node->a = a;
    node->b = b;
    node->c = c;
    seal(node);
    return node;
  }
  /// Works out how deep a finished expression is: chains make deep trees without deep nesting.
  static void seal(Node *node) {
    auto below = [&](const Node *child) {
      if (child != nullptr) {
        node->depth = std::max(node->depth, child->depth + 1);
      }
    };
    below(node->a);
    below(node->b);
    below(node->c);
    for (Nodes list : {node->items, node->extra}) {
      for (const Node *child : list) {
        below(child);
      }
    }
    if (node->depth > max_tree_depth) {
      throw CompileError{"RecursionError", "maximum recursion depth exceeded", 0};
    }
  }
  Node *constant(Value value, int line) {
    Node *node = make(Op::constant, line);
    node->value = value;
    if (value.is_string()) {
      value.string->hash = static_cast<std::uint32_t>(hash_text(value.string->view()));
    }
    return node;
  }
  Node *name_node(const Token &token, Context context) {
    Node *node = make(Op::name, token.line);
    node->name = intern(token.text);
    node->context = context;
    return node;
  }

  // ---- statements and targets (parser_statements.cpp)

  [[noreturn]] void fail_tag(const std::string_view *unknown, const Words *extra_end, int line);
  NodeList statements_until(const Words *end);
  Nodes body_until(const Words &end, bool drop);
  void parse_statement(NodeList &body);
  Node *parse_for();
  Node *parse_if();
  Node *parse_set();
  Node *parse_with();
  Node *parse_block();
  void parse_import_context();
  Node *parse_include();
  Node *parse_import();
  Node *parse_from();
  void parse_signature(Node *node);
  Node *parse_macro();
  Node *parse_call_block();
  static void set_context(Node *node, Context context);
  /// What a node is called in "can't assign to ...", "" when it can be assigned to.
  static std::string_view unassignable(const Node *node);
  Node *parse_name_target();
  Node *parse_target(bool with_namespace);

  // ---- expressions (parser_expressions.cpp)

  Node *parse_expression(bool conditions = true);
  Node *parse_condition();
  Node *parse_condition_guarded();
  Node *parse_or();
  Node *parse_and();
  Node *parse_not();
  Node *parse_compare();
  Node *parse_sum();
  Node *parse_concat();
  Node *parse_product();
  Node *parse_power();
  Node *parse_unary(bool with_filter);
  Node *parse_primary(bool with_namespace);
  Value number(const Token &token);
  /// jinja2 also names words that end a tuple ("in", "recursive"), but its own check never meets
  /// them.
  bool tuple_end() const;
  Node *parse_tuple(bool conditions, bool parentheses, bool simple = false,
                    bool with_namespace = false);
  Node *parse_postfix(Node *node);
  Node *parse_filter_expression(Node *node);
  Node *parse_subscript(Node *node);
  Node *parse_subscribed();
  /// Arguments of a call, filter or test: items positional, extra keywords, b *args, c **kwargs.
  void parse_arguments(Node *node);
  Node *parse_call(Node *callee);
  const Str *parse_dotted_name();
  Node *parse_filter(Node *node, bool start_inline);
  Node *parse_test(Node *subject);

  Program &program_;
  Arena &arena_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  int expression_depth_ = 0;
  int chain_depth_ = 0;
  int statement_depth_ = 0;
  std::unordered_map<std::string_view, const Str *> names_;
  std::vector<std::string_view> tags_;
  std::vector<const Words *> end_words_;
  const Words end_for_else_{"endfor", "else"};
  const Words end_for_{"endfor"};
  const Words end_if_else_{"elif", "else", "endif"};
  const Words end_if_{"endif"};
  const Words end_set_{"endset"};
  const Words end_with_{"endwith"};
  const Words end_block_{"endblock"};
  const Words end_macro_{"endmacro"};
  const Words end_call_{"endcall"};
  const Words end_filter_{"endfilter"};
  const Words end_autoescape_{"endautoescape"};
  const Words end_generation_{"endgeneration"};
};

} // namespace headwater::jinja
