// Expressions, in the order of their binding.

#include "daemon/jinja/bigint.hpp"
#include "daemon/jinja/parser.hpp"

namespace headwater::jinja {

Node *Parser::parse_expression(bool conditions) {
  return conditions ? parse_condition() : parse_or();
}

Node *Parser::parse_condition() {
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

Node *Parser::parse_condition_guarded() {
  DepthGuard guard(chain_depth_, 400);
  return parse_condition();
}

Node *Parser::parse_or() {
  int line = current().line;
  Node *left = parse_and();
  while (skip_name("or")) {
    left = make(Op::logical_or, line, left, parse_and());
    line = current().line;
  }
  return left;
}

Node *Parser::parse_and() {
  int line = current().line;
  Node *left = parse_not();
  while (skip_name("and")) {
    left = make(Op::logical_and, line, left, parse_not());
    line = current().line;
  }
  return left;
}

Node *Parser::parse_not() {
  if (is_name("not")) {
    DepthGuard guard(chain_depth_, 400);
    int line = next().line;
    return make(Op::negate, line, parse_not());
  }
  return parse_compare();
}

Node *Parser::parse_compare() {
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

Node *Parser::parse_sum() {
  int line = current().line;
  Node *left = parse_concat();
  while (is(Type::add) || is(Type::sub)) {
    Op op = next().type == Type::add ? Op::add : Op::subtract;
    left = make(op, line, left, parse_concat());
    line = current().line;
  }
  return left;
}

Node *Parser::parse_concat() {
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

Node *Parser::parse_product() {
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

Node *Parser::parse_power() {
  int line = current().line;
  Node *left = parse_unary(true);
  while (skip(Type::pow)) {
    left = make(Op::power, line, left, parse_unary(true));
    line = current().line;
  }
  return left;
}

Node *Parser::parse_unary(bool with_filter) {
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

Node *Parser::parse_primary(bool with_namespace) {
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

Value Parser::number(const Token &token) {
  if (token.type == Type::integer && token.text.size() < 18 &&
      (token.text.size() == 1 || token.text[0] != '0') &&
      token.text.find_first_not_of("0123456789") == std::string_view::npos) {
    std::int64_t small = 0;
    for (char digit : token.text) {
      small = small * 10 + (digit - '0');
    }
    return small;
  }
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

bool Parser::tuple_end() const {
  return is(Type::variable_end) || is(Type::block_end) || is(Type::rparen);
}

Node *Parser::parse_tuple(bool conditions, bool parentheses, bool simple, bool with_namespace) {
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

Node *Parser::parse_postfix(Node *node) {
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

Node *Parser::parse_filter_expression(Node *node) {
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

Node *Parser::parse_subscript(Node *node) {
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

Node *Parser::parse_subscribed() {
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

void Parser::parse_arguments(Node *node) {
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
          throw CompileError{"SyntaxError", fmt::format("keyword argument repeated: {}", key.text),
                             0};
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

Node *Parser::parse_call(Node *callee) {
  Node *node = make(Op::call, current().line, callee);
  parse_arguments(node);
  return node;
}

const Str *Parser::parse_dotted_name() {
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

Node *Parser::parse_filter(Node *node, bool start_inline) {
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

Node *Parser::parse_test(Node *subject) {
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

} // namespace headwater::jinja
