#include "daemon/jinja/ast.hpp"
#include "daemon/jinja/bigint.hpp"
#include "daemon/jinja/lexer.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>

#include <fmt/format.h>

namespace headwater::jinja {

namespace {

using Type = TokenType;
using Words = std::vector<std::string_view>;
using NodeList = std::vector<Node *>;

// Python stops jinja2's own recursive descent near these depths.
constexpr int max_expression_depth = 70;
constexpr int max_statement_depth = 200;
constexpr int max_tree_depth = 300;

class Parser {
public:
  Parser(Program &program, std::string_view source)
      : program_(program), arena_(program.arena), tokens_(tokenize(program.arena, source)) {
    check_token();
  }

  Nodes parse() { return keep(arena_, statements_until(nullptr)); }

private:
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

  // ---- statements

  [[noreturn]] void fail_tag(const std::string_view *unknown, const Words *extra_end, int line) {
    std::vector<const Words *> stack = end_words_;
    if (extra_end != nullptr) {
      stack.push_back(extra_end);
    }
    std::string message = unknown == nullptr
                              ? "Unexpected end of template."
                              : fmt::format("Encountered unknown tag {}.", quoted(*unknown));
    if (!stack.empty()) {
      std::string looking;
      for (std::string_view word : *stack.back()) {
        looking += (looking.empty() ? "" : " or ") + quoted(word);
      }
      bool expected =
          unknown != nullptr && std::any_of(stack.begin(), stack.end(), [&](const Words *words) {
            return std::find(words->begin(), words->end(), *unknown) != words->end();
          });
      message +=
          expected
              ? " You probably made a nesting mistake. Jinja is expecting this tag, but currently "
                "looking for " +
                    looking + "."
              : " Jinja was looking for the following tags: " + looking + ".";
    }
    if (!tags_.empty()) {
      message +=
          fmt::format(" The innermost block that needs to be closed is {}.", quoted(tags_.back()));
    }
    fail(std::move(message), line);
  }

  NodeList statements_until(const Words *end) {
    DepthGuard guard(statement_depth_, max_statement_depth);
    if (end != nullptr) {
      end_words_.push_back(end);
    }
    NodeList body;
    while (!is(Type::eof)) {
      const Token &token = current();
      if (token.type == Type::data) {
        Node *node = make(Op::data, token.line);
        node->value = share_str(arena_, token.text, false);
        body.push_back(node);
        next();
      } else if (token.type == Type::variable_begin) {
        next();
        Node *expression = parse_tuple(true, false);
        body.push_back(make(Op::print, token.line, expression));
        expect(Type::variable_end);
      } else {
        next();
        if (end != nullptr && is(Type::name) &&
            std::find(end->begin(), end->end(), current().text) != end->end()) {
          break;
        }
        parse_statement(body);
        expect(Type::block_end);
      }
    }
    if (end != nullptr) {
      end_words_.pop_back();
    }
    return body;
  }

  Nodes body_until(const Words &end, bool drop) {
    skip(Type::colon);
    expect(Type::block_end);
    NodeList body = statements_until(&end);
    if (is(Type::eof)) {
      fail_tag(nullptr, &end, 0);
    }
    if (drop) {
      next();
    }
    return keep(arena_, body);
  }

  void parse_statement(NodeList &body) {
    const Token &token = current();
    if (token.type != Type::name) {
      fail("tag name expected", token.line);
    }
    std::string_view tag = token.text;
    tags_.push_back(tag);
    int line = token.line;
    Node *node = nullptr;
    if (tag == "for") {
      node = parse_for();
    } else if (tag == "if") {
      node = parse_if();
    } else if (tag == "set") {
      node = parse_set();
    } else if (tag == "macro") {
      node = parse_macro();
    } else if (tag == "generation") {
      next();
      node = make(Op::generation, line);
      node->items = body_until(end_generation_, true);
    } else if (tag == "break" || tag == "continue") {
      next();
      node = make(tag == "break" ? Op::break_loop : Op::continue_loop, line);
    } else if (tag == "call") {
      node = parse_call_block();
    } else if (tag == "filter") {
      next();
      node = make(Op::filter_block, line, parse_filter(nullptr, true));
      node->items = body_until(end_filter_, true);
    } else if (tag == "with") {
      node = parse_with();
    } else if (tag == "autoescape") {
      next();
      node = make(Op::autoescape, line, parse_expression());
      node->items = body_until(end_autoescape_, true);
    } else if (tag == "print") {
      next();
      bool first = true;
      while (!is(Type::block_end)) {
        if (!first) {
          expect(Type::comma);
        }
        first = false;
        body.push_back(make(Op::print, line, parse_expression()));
      }
    } else if (tag == "block") {
      node = parse_block();
    } else if (tag == "extends") {
      next();
      node = make(Op::extends, line, parse_expression());
    } else if (tag == "include") {
      node = parse_include();
    } else if (tag == "import") {
      node = parse_import();
    } else if (tag == "from") {
      node = parse_from();
    } else {
      tags_.pop_back();
      fail_tag(&tag, nullptr, line);
    }
    tags_.pop_back();
    if (node != nullptr) {
      body.push_back(node);
    }
  }

  Node *parse_for() {
    int line = next().line;
    Node *target = parse_target(false);
    expect_name("in");
    Node *node = make(Op::loop, line, target, parse_tuple(false, false));
    if (skip_name("if")) {
      node->c = parse_expression();
    }
    node->flag = skip_name("recursive");
    node->items = body_until(end_for_else_, false);
    if (next().text != "endfor") {
      node->extra = body_until(end_for_, true);
    }
    return node;
  }

  Node *parse_if() {
    Node *result = make(Op::branch, next().line);
    Node *node = result;
    NodeList elifs;
    for (;;) {
      node->a = parse_tuple(false, false);
      node->items = body_until(end_if_else_, false);
      std::string_view word = next().text;
      if (word == "elif") {
        node = make(Op::branch, current().line);
        elifs.push_back(node);
        continue;
      }
      if (word == "else") {
        result->more = body_until(end_if_, true);
      }
      break;
    }
    result->extra = keep(arena_, elifs);
    return result;
  }

  Node *parse_set() {
    int line = next().line;
    Node *target = parse_target(true);
    if (skip(Type::assign)) {
      return make(Op::assign, line, target, parse_tuple(true, false));
    }
    Node *node = make(Op::assign_block, line, target, parse_filter(nullptr, false));
    node->items = body_until(end_set_, true);
    return node;
  }

  Node *parse_with() {
    Node *node = make(Op::with, next().line);
    NodeList targets;
    NodeList values;
    while (!is(Type::block_end)) {
      if (!targets.empty()) {
        expect(Type::comma);
      }
      Node *target = parse_target(false);
      set_context(target, Context::param);
      targets.push_back(target);
      expect(Type::assign);
      values.push_back(parse_expression());
    }
    node->extra = keep(arena_, targets);
    node->more = keep(arena_, values);
    node->items = body_until(end_with_, true);
    return node;
  }

  Node *parse_block() {
    Node *node = make(Op::block, next().line);
    node->name = intern(expect(Type::name).text);
    node->flag = skip_name("scoped");
    node->other = skip_name("required");
    if (is(Type::sub)) {
      fail("Block names in Jinja have to be valid Python identifiers and may not contain hyphens, "
           "use an "
           "underscore instead.");
    }
    node->items = body_until(end_block_, true);
    if (node->other) {
      for (const Node *item : node->items) {
        if (item->op != Op::data ||
            item->value.string->view().find_first_not_of(" \t\n\r\v\f") != std::string_view::npos) {
          fail("Required blocks can only contain comments or whitespace");
        }
      }
    }
    skip_name(node->name->view());
    return node;
  }

  void parse_import_context() {
    if ((is_name("with") || is_name("without")) && look().type == Type::name &&
        look().text == "context") {
      next();
      next();
    }
  }

  Node *parse_include() {
    Node *node = make(Op::include, next().line);
    node->a = parse_expression();
    if (is_name("ignore") && look().type == Type::name && look().text == "missing") {
      node->flag = true;
      next();
      next();
    }
    parse_import_context();
    return node;
  }

  Node *parse_import() {
    Node *node = make(Op::import, next().line);
    node->a = parse_expression();
    expect_name("as");
    node->name = intern(expect(Type::name).text);
    parse_import_context();
    return node;
  }

  Node *parse_from() {
    Node *node = make(Op::from_import, next().line);
    node->a = parse_expression();
    expect_name("import");
    NodeList targets;
    auto context = [&] {
      if ((is_name("with") || is_name("without")) && look().type == Type::name &&
          look().text == "context") {
        next();
        next();
        return true;
      }
      return false;
    };
    for (;;) {
      if (!targets.empty()) {
        expect(Type::comma);
      }
      if (is(Type::name)) {
        if (context()) {
          break;
        }
        Node *target = parse_name_target();
        if (target->name->view().starts_with('_')) {
          throw CompileError{"TemplateAssertionError",
                             "names starting with an underline can not be imported", target->line};
        }
        if (skip_name("as")) {
          target = parse_name_target();
        }
        targets.push_back(target);
        if (context() || !is(Type::comma)) {
          break;
        }
      } else {
        expect(Type::name);
      }
    }
    node->items = keep(arena_, targets);
    return node;
  }

  void parse_signature(Node *node) {
    NodeList arguments;
    NodeList defaults;
    expect(Type::lparen);
    while (!is(Type::rparen)) {
      if (!arguments.empty()) {
        expect(Type::comma);
      }
      Node *argument = parse_name_target();
      argument->context = Context::param;
      if (skip(Type::assign)) {
        defaults.push_back(parse_expression());
      } else if (!defaults.empty()) {
        fail("non-default argument follows default argument");
      }
      arguments.push_back(argument);
    }
    expect(Type::rparen);
    node->extra = keep(arena_, arguments);
    node->more = keep(arena_, defaults);
  }

  Node *parse_macro() {
    Node *node = make(Op::macro, next().line);
    node->name = parse_name_target()->name;
    parse_signature(node);
    node->items = body_until(end_macro_, true);
    return node;
  }

  Node *parse_call_block() {
    Node *node = make(Op::call_block, next().line);
    if (is(Type::lparen)) {
      parse_signature(node);
    }
    node->a = parse_expression();
    if (node->a->op != Op::call) {
      fail("expected call", node->line);
    }
    node->items = body_until(end_call_, true);
    return node;
  }

  // ---- targets

  static void set_context(Node *node, Context context) {
    if (node->op == Op::name || node->op == Op::tuple) {
      node->context = context;
    }
    if (node->op == Op::tuple) {
      for (Node *item : node->items) {
        set_context(item, context);
      }
    }
  }

  /// What a node is called in "can't assign to ...", "" when it can be assigned to.
  static std::string_view unassignable(const Node *node) {
    switch (node->op) {
    case Op::name:
    case Op::namespace_ref:
      return "";
    case Op::tuple:
      return std::all_of(node->items.begin(), node->items.end(),
                         [](Node *i) { return unassignable(i).empty(); })
                 ? ""
                 : "tuple";
    case Op::constant:
      return "const";
    case Op::list:
      return "list";
    case Op::dict:
      return "dict";
    default:
      return "expr";
    }
  }

  Node *parse_name_target() {
    Node *node = name_node(expect(Type::name), Context::store);
    static constexpr std::array<std::string_view, 6> reserved{"true", "false", "none",
                                                              "True", "False", "None"};
    if (std::find(reserved.begin(), reserved.end(), node->name->view()) != reserved.end()) {
      fail("can't assign to 'name'", node->line);
    }
    return node;
  }

  Node *parse_target(bool with_namespace) {
    Node *target = parse_tuple(true, false, true, with_namespace);
    set_context(target, Context::store);
    if (std::string_view what = unassignable(target); !what.empty()) {
      fail(fmt::format("can't assign to '{}'", what), target->line);
    }
    return target;
  }

  // ---- expressions

  Node *parse_expression(bool conditions = true) {
    return conditions ? parse_condition() : parse_or();
  }

  Node *parse_condition() {
    int line = current().line;
    Node *expression = parse_or();
    while (skip_name("if")) {
      Node *test = parse_or();
      Node *otherwise = skip_name("else") ? parse_condition_guarded() : nullptr;
      expression = make(Op::condition, line, test, expression, otherwise);
      line = current().line;
    }
    return expression;
  }

  Node *parse_condition_guarded() {
    DepthGuard guard(chain_depth_, 400);
    return parse_condition();
  }

  Node *parse_or() {
    int line = current().line;
    Node *left = parse_and();
    while (skip_name("or")) {
      left = make(Op::logical_or, line, left, parse_and());
      line = current().line;
    }
    return left;
  }

  Node *parse_and() {
    int line = current().line;
    Node *left = parse_not();
    while (skip_name("and")) {
      left = make(Op::logical_and, line, left, parse_not());
      line = current().line;
    }
    return left;
  }

  Node *parse_not() {
    if (is_name("not")) {
      DepthGuard guard(chain_depth_, 400);
      int line = next().line;
      return make(Op::negate, line, parse_not());
    }
    return parse_compare();
  }

  Node *parse_compare() {
    int line = current().line;
    Node *expression = parse_sum();
    NodeList operands;
    std::vector<Comparison> compares;
    for (;;) {
      Type type = current().type;
      if (type == Type::eq || type == Type::ne || type == Type::lt || type == Type::lteq ||
          type == Type::gt || type == Type::gteq) {
        next();
        compares.push_back(type == Type::eq     ? Comparison::eq
                           : type == Type::ne   ? Comparison::ne
                           : type == Type::lt   ? Comparison::lt
                           : type == Type::lteq ? Comparison::lteq
                           : type == Type::gt   ? Comparison::gt
                                                : Comparison::gteq);
      } else if (skip_name("in")) {
        compares.push_back(Comparison::in);
      } else if (is_name("not") && look().type == Type::name && look().text == "in") {
        next();
        next();
        compares.push_back(Comparison::notin);
      } else {
        break;
      }
      operands.push_back(parse_sum());
      line = current().line;
    }
    if (operands.empty()) {
      return expression;
    }
    Node *node = make(Op::compare, line, expression);
    node->items = keep(arena_, operands);
    node->compares = keep(arena_, compares);
    seal(node);
    return node;
  }

  Node *parse_sum() {
    int line = current().line;
    Node *left = parse_concat();
    while (is(Type::add) || is(Type::sub)) {
      Op op = next().type == Type::add ? Op::add : Op::subtract;
      left = make(op, line, left, parse_concat());
      line = current().line;
    }
    return left;
  }

  Node *parse_concat() {
    int line = current().line;
    NodeList parts{parse_product()};
    while (skip(Type::tilde)) {
      parts.push_back(parse_product());
    }
    if (parts.size() == 1) {
      return parts[0];
    }
    Node *node = make(Op::concat, line);
    node->items = keep(arena_, parts);
    seal(node);
    return node;
  }

  Node *parse_product() {
    int line = current().line;
    Node *left = parse_power();
    while (is(Type::mul) || is(Type::div) || is(Type::floordiv) || is(Type::mod)) {
      Type type = next().type;
      Op op = type == Type::mul        ? Op::multiply
              : type == Type::div      ? Op::divide
              : type == Type::floordiv ? Op::floor_divide
                                       : Op::modulo;
      left = make(op, line, left, parse_power());
      line = current().line;
    }
    return left;
  }

  Node *parse_power() {
    int line = current().line;
    Node *left = parse_unary(true);
    while (skip(Type::pow)) {
      left = make(Op::power, line, left, parse_unary(true));
      line = current().line;
    }
    return left;
  }

  Node *parse_unary(bool with_filter) {
    DepthGuard guard(with_filter ? expression_depth_ : chain_depth_,
                     with_filter ? max_expression_depth : 400);
    int line = current().line;
    Node *node = nullptr;
    if (skip(Type::sub)) {
      node = make(Op::negative, line, parse_unary(false));
    } else if (skip(Type::add)) {
      node = make(Op::positive, line, parse_unary(false));
    } else {
      node = parse_primary(false);
    }
    node = parse_postfix(node);
    return with_filter ? parse_filter_expression(node) : node;
  }

  Node *parse_primary(bool with_namespace) {
    const Token &token = current();
    switch (token.type) {
    case Type::name: {
      next();
      std::string_view word = token.text;
      if (word == "true" || word == "True" || word == "false" || word == "False") {
        return constant(word == "true" || word == "True", token.line);
      }
      if (word == "none" || word == "None") {
        return constant(Value::none(), token.line);
      }
      if (with_namespace && skip(Type::dot)) {
        Node *node = make(Op::namespace_ref, token.line);
        node->name = intern(word);
        node->value = intern(expect(Type::name).text);
        return node;
      }
      return name_node(token, Context::load);
    }
    case Type::string: {
      next();
      if (!is(Type::string)) {
        return constant(intern(token.text), token.line);
      }
      std::string joined(token.text);
      while (is(Type::string)) {
        joined += next().text;
      }
      return constant(intern_copy(joined), token.line);
    }
    case Type::integer:
    case Type::real:
      next();
      return constant(number(token), token.line);
    case Type::lparen: {
      next();
      Node *node = parse_tuple(true, true);
      expect(Type::rparen);
      return node;
    }
    case Type::lbracket: {
      next();
      NodeList items;
      while (!is(Type::rbracket)) {
        if (!items.empty()) {
          expect(Type::comma);
        }
        if (is(Type::rbracket)) {
          break;
        }
        items.push_back(parse_expression());
      }
      expect(Type::rbracket);
      Node *node = make(Op::list, token.line);
      node->items = keep(arena_, items);
      seal(node);
      return node;
    }
    case Type::lbrace: {
      next();
      NodeList items;
      while (!is(Type::rbrace)) {
        if (!items.empty()) {
          expect(Type::comma);
        }
        if (is(Type::rbrace)) {
          break;
        }
        items.push_back(parse_expression());
        expect(Type::colon);
        items.push_back(parse_expression());
      }
      expect(Type::rbrace);
      Node *node = make(Op::dict, token.line);
      node->items = keep(arena_, items);
      seal(node);
      return node;
    }
    default:
      fail(fmt::format("unexpected {}", quoted(describe_token(token))), token.line);
    }
  }

  Value number(const Token &token) {
    Limits limits;
    limits.allocation_bytes = std::size_t{1} << 20U;
    Runtime scratch(limits, Clock{});
    std::string text(token.text);
    std::erase(text, '_');
    if (token.type == Type::real) {
      return parse_real(text);
    }
    try {
      Value value = parse_integer(scratch, text, 0);
      return value.is(Kind::big) ? narrow(arena_, widen(value)) : value;
    } catch (const Raise &error) {
      throw CompileError{name_of(error.error), error.message, 0};
    }
  }

  /// jinja2 also names words that end a tuple ("in", "recursive"), but its own check never meets
  /// them.
  bool tuple_end() const {
    return is(Type::variable_end) || is(Type::block_end) || is(Type::rparen);
  }

  Node *parse_tuple(bool conditions, bool parentheses, bool simple = false,
                    bool with_namespace = false) {
    int line = current().line;
    NodeList items;
    bool is_tuple = false;
    for (;;) {
      if (!items.empty()) {
        expect(Type::comma);
      }
      if (tuple_end()) {
        break;
      }
      items.push_back(simple ? parse_primary(with_namespace) : parse_expression(conditions));
      if (!is(Type::comma)) {
        break;
      }
      is_tuple = true;
      line = current().line;
    }
    if (!is_tuple) {
      if (!items.empty()) {
        return items[0];
      }
      if (!parentheses) {
        fail(fmt::format("Expected an expression, got {}", quoted(describe_token(current()))));
      }
    }
    Node *node = make(Op::tuple, line);
    node->items = keep(arena_, items);
    seal(node);
    return node;
  }

  Node *parse_postfix(Node *node) {
    for (;;) {
      if (is(Type::dot) || is(Type::lbracket)) {
        node = parse_subscript(node);
      } else if (is(Type::lparen)) {
        node = parse_call(node);
      } else {
        return node;
      }
    }
  }

  Node *parse_filter_expression(Node *node) {
    for (;;) {
      if (is(Type::pipe)) {
        node = parse_filter(node, false);
      } else if (is_name("is")) {
        node = parse_test(node);
      } else if (is(Type::lparen)) {
        node = parse_call(node);
      } else {
        return node;
      }
    }
  }

  Node *parse_subscript(Node *node) {
    const Token &token = next();
    if (token.type == Type::dot) {
      const Token &attribute = current();
      next();
      if (attribute.type == Type::name) {
        Node *result = make(Op::attribute, token.line, node);
        result->name = intern(attribute.text);
        return result;
      }
      if (attribute.type != Type::integer) {
        fail("expected name or number", attribute.line);
      }
      return make(Op::item, token.line, node, constant(number(attribute), attribute.line));
    }
    NodeList arguments;
    while (!is(Type::rbracket)) {
      if (!arguments.empty()) {
        expect(Type::comma);
      }
      arguments.push_back(parse_subscribed());
    }
    expect(Type::rbracket);
    Node *argument = nullptr;
    if (arguments.size() == 1) {
      argument = arguments[0];
    } else {
      argument = make(Op::tuple, token.line);
      argument->items = keep(arena_, arguments);
      seal(argument);
    }
    return make(Op::item, token.line, node, argument);
  }

  Node *parse_subscribed() {
    int line = current().line;
    Node *start = nullptr;
    if (!is(Type::colon)) {
      start = parse_expression();
      if (!is(Type::colon)) {
        return start;
      }
    }
    next();
    auto part = [&]() -> Node * {
      return is(Type::rbracket) || is(Type::comma) ? nullptr : parse_expression();
    };
    Node *stop = is(Type::colon) ? nullptr : part();
    Node *step = skip(Type::colon) ? part() : nullptr;
    return make(Op::slice, line, start, stop, step);
  }

  /// Arguments of a call, filter or test: items positional, extra keywords, b *args, c **kwargs.
  void parse_arguments(Node *node) {
    int line = expect(Type::lparen).line;
    NodeList positional;
    NodeList keywords;
    bool comma = false;
    auto ensure = [&](bool good) {
      if (!good) {
        fail("invalid syntax for function call expression", line);
      }
    };
    while (!is(Type::rparen)) {
      if (comma) {
        expect(Type::comma);
        if (is(Type::rparen)) {
          break;
        }
      }
      if (is(Type::mul)) {
        ensure(node->b == nullptr && node->c == nullptr);
        next();
        node->b = parse_expression();
      } else if (is(Type::pow)) {
        ensure(node->c == nullptr);
        next();
        node->c = parse_expression();
      } else if (is(Type::name) && look().type == Type::assign) {
        ensure(node->c == nullptr);
        const Token &key = next();
        next();
        Node *value = parse_expression();
        Node *keyword = make(Op::keyword, value->line, value);
        keyword->name = intern(key.text);
        for (const Node *other : keywords) {
          if (other->name == keyword->name) {
            throw CompileError{"SyntaxError",
                               fmt::format("keyword argument repeated: {}", key.text), 0};
          }
        }
        keywords.push_back(keyword);
      } else {
        ensure(node->b == nullptr && node->c == nullptr && keywords.empty());
        positional.push_back(parse_expression());
      }
      comma = true;
    }
    expect(Type::rparen);
    node->items = keep(arena_, positional);
    node->extra = keep(arena_, keywords);
    seal(node);
  }

  Node *parse_call(Node *callee) {
    Node *node = make(Op::call, current().line, callee);
    parse_arguments(node);
    return node;
  }

  const Str *parse_dotted_name() {
    std::string name(expect(Type::name).text);
    bool dotted = false;
    std::string_view first = tokens_[at_ - 1].text;
    while (skip(Type::dot)) {
      name += '.';
      name += expect(Type::name).text;
      dotted = true;
    }
    return dotted ? intern_copy(name) : intern(first);
  }

  Node *parse_filter(Node *node, bool start_inline) {
    while (is(Type::pipe) || start_inline) {
      if (!start_inline) {
        next();
      }
      int line = current().line;
      const Str *name = parse_dotted_name();
      node = make(Op::filter, line, node);
      node->name = name;
      if (is(Type::lparen)) {
        parse_arguments(node);
      }
      start_inline = false;
    }
    return node;
  }

  Node *parse_test(Node *subject) {
    int line = next().line;
    bool negated = skip_name("not");
    Node *node = make(Op::test, line, subject);
    node->name = parse_dotted_name();
    Type type = current().type;
    if (type == Type::lparen) {
      parse_arguments(node);
    } else if ((type == Type::name || type == Type::string || type == Type::integer ||
                type == Type::real || type == Type::lbracket || type == Type::lbrace) &&
               !is_name("else") && !is_name("or") && !is_name("and")) {
      if (is_name("is")) {
        fail("You cannot chain multiple tests with is");
      }
      NodeList argument{parse_postfix(parse_primary(false))};
      node->items = keep(arena_, argument);
    }
    return negated ? make(Op::negate, line, node) : node;
  }

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

} // namespace

void parse_into(Program &program, std::string_view source) {
  Parser parser(program, source);
  program.body = parser.parse();
}

} // namespace headwater::jinja
