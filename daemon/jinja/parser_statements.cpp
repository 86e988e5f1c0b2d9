// Tags, their bodies, and what may be assigned to.

#include "daemon/jinja/parser.hpp"

namespace headwater::jinja {

void Parser::fail_tag(const std::string_view *unknown, const Words *extra_end, int line) {
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

Parser::NodeList Parser::statements_until(const Words *end) {
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

Nodes Parser::body_until(const Words &end, bool drop) {
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

void Parser::parse_statement(NodeList &body) {
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

Node *Parser::parse_for() {
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

Node *Parser::parse_if() {
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

Node *Parser::parse_set() {
  int line = next().line;
  Node *target = parse_target(true);
  if (skip(Type::assign)) {
    return make(Op::assign, line, target, parse_tuple(true, false));
  }
  Node *node = make(Op::assign_block, line, target, parse_filter(nullptr, false));
  node->items = body_until(end_set_, true);
  return node;
}

Node *Parser::parse_with() {
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

Node *Parser::parse_block() {
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

void Parser::parse_import_context() {
  if ((is_name("with") || is_name("without")) && look().type == Type::name &&
      look().text == "context") {
    next();
    next();
  }
}

Node *Parser::parse_include() {
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

Node *Parser::parse_import() {
  Node *node = make(Op::import, next().line);
  node->a = parse_expression();
  expect_name("as");
  node->name = intern(expect(Type::name).text);
  parse_import_context();
  return node;
}

Node *Parser::parse_from() {
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

void Parser::parse_signature(Node *node) {
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

Node *Parser::parse_macro() {
  Node *node = make(Op::macro, next().line);
  node->name = parse_name_target()->name;
  parse_signature(node);
  node->items = body_until(end_macro_, true);
  return node;
}

Node *Parser::parse_call_block() {
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

void Parser::set_context(Node *node, Context context) {
  if (node->op == Op::name || node->op == Op::tuple) {
    node->context = context;
  }
  if (node->op == Op::tuple) {
    for (Node *item : node->items) {
      set_context(item, context);
    }
  }
}

std::string_view Parser::unassignable(const Node *node) {
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

Node *Parser::parse_name_target() {
  Node *node = name_node(expect(Type::name), Context::store);
  static constexpr std::array<std::string_view, 6> reserved{"true", "false", "none",
                                                            "True", "False", "None"};
  if (std::find(reserved.begin(), reserved.end(), node->name->view()) != reserved.end()) {
    fail("can't assign to 'name'", node->line);
  }
  return node;
}

Node *Parser::parse_target(bool with_namespace) {
  Node *target = parse_tuple(true, false, true, with_namespace);
  set_context(target, Context::store);
  if (std::string_view what = unassignable(target); !what.empty()) {
    fail(fmt::format("can't assign to '{}'", what), target->line);
  }
  return target;
}
void parse_into(Program &program, std::string_view source) {
  Parser parser(program, source);
  program.body = parser.parse();
}

} // namespace headwater::jinja
