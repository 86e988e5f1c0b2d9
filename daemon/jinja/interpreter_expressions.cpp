// What expressions give.

#include "daemon/jinja/interpreter.hpp"
#include "daemon/jinja/text.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace headwater::jinja {

Value Interpreter::evaluate(const Node &node) {
  runtime_.spend(1);
  NativeDepth deeper(native_depth_);
  switch (node.op) {
  case Op::constant:
    return node.value;
  case Op::name: {
    const Value &value = at(node.place);
    return value.is_missing() ? runtime_.undefined_name(node.name) : value;
  }
  case Op::attribute:
    return runtime_.get_attribute(evaluate(*node.a), *node.name);
  case Op::item:
    return item(node);
  case Op::compare:
    return compare(node);
  case Op::negate:
    return !truth(evaluate(*node.a));
  case Op::logical_and: {
    Value left = evaluate(*node.a);
    return truth(left) ? evaluate(*node.b) : left;
  }
  case Op::logical_or: {
    Value left = evaluate(*node.a);
    return truth(left) ? left : evaluate(*node.b);
  }
  case Op::add: {
    Value left = evaluate(*node.a);
    return runtime_.add(left, evaluate(*node.b));
  }
  case Op::subtract: {
    Value left = evaluate(*node.a);
    return runtime_.subtract(left, evaluate(*node.b));
  }
  case Op::multiply: {
    Value left = evaluate(*node.a);
    return runtime_.multiply(left, evaluate(*node.b));
  }
  case Op::divide: {
    Value left = evaluate(*node.a);
    return runtime_.divide(left, evaluate(*node.b));
  }
  case Op::floor_divide: {
    Value left = evaluate(*node.a);
    return runtime_.floor_divide(left, evaluate(*node.b));
  }
  case Op::modulo: {
    Value left = evaluate(*node.a);
    return runtime_.modulo(left, evaluate(*node.b));
  }
  case Op::power: {
    Value left = evaluate(*node.a);
    return runtime_.power(left, evaluate(*node.b));
  }
  case Op::negative:
    return runtime_.negative(evaluate(*node.a));
  case Op::positive:
    return runtime_.positive(evaluate(*node.a));
  case Op::concat: {
    std::string text;
    bool markup = false;
    std::vector<Value> parts;
    for (const Node *part : node.items) {
      parts.push_back(evaluate(*part));
      markup = markup ||
               (runtime_.autoescape && parts.back().is_string() && parts.back().string->markup);
    }
    for (const Value &part : parts) {
      if (markup) {
        text.append(runtime_.escape(part)->view());
      } else {
        runtime_.append_str(text, part);
      }
    }
    return runtime_.str(text, markup);
  }
  case Op::condition:
    if (truth(evaluate(*node.a))) {
      return evaluate(*node.b);
    }
    if (node.c != nullptr) {
      return evaluate(*node.c);
    }
    return runtime_.undefined_hint(fmt::format(
        "the inline if-expression on line {} evaluated to false and no else section was defined.",
        node.line));
  case Op::list:
  case Op::tuple: {
    auto *items = runtime_.arena.array<Value>(node.items.size());
    for (std::size_t i = 0; i < node.items.size(); ++i) {
      items[i] = evaluate(*node.items[i]);
    }
    const Sequence *sequence = runtime_.arena.make<Sequence>(items, node.items.size());
    return node.op == Op::list ? Value::list(sequence) : Value::tuple(sequence);
  }
  case Op::dict: {
    Dict *dict = make_dict(runtime_.arena, node.items.size() / 2);
    for (std::size_t i = 0; i + 1 < node.items.size(); i += 2) {
      Value key = evaluate(*node.items[i]);
      runtime_.set(*dict, key, evaluate(*node.items[i + 1]));
    }
    return Value(dict);
  }
  case Op::call:
    return call(node, nullptr);
  case Op::filter:
  case Op::test:
    return built_in(node, nullptr);
  case Op::slice: {
    Value value = Value::of(Kind::slice);
    Value start = node.a == nullptr ? Value::none() : evaluate(*node.a);
    Value stop = node.b == nullptr ? Value::none() : evaluate(*node.b);
    Value step = node.c == nullptr ? Value::none() : evaluate(*node.c);
    value.slice = runtime_.arena.make<Slice>(start, stop, step);
    return value;
  }
  default:
    raise(ErrorClass::RuntimeError, "this is no expression");
  }
}

bool Interpreter::compare_one(Comparison op, const Value &a, const Value &b) {
  switch (op) {
  case Comparison::eq:
    return runtime_.is_equal(a, b);
  case Comparison::ne:
    return !runtime_.is_equal(a, b);
  case Comparison::lt:
    return runtime_.ordered(a, b, "<");
  case Comparison::lteq:
    return runtime_.ordered(a, b, "<=");
  case Comparison::gt:
    return runtime_.ordered(a, b, ">");
  case Comparison::gteq:
    return runtime_.ordered(a, b, ">=");
  case Comparison::in:
    return runtime_.contains(b, a);
  case Comparison::notin:
    return !runtime_.contains(b, a);
  }
  return false;
}

Value Interpreter::compare(const Node &node) {
  Value left = evaluate(*node.a);
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    Value right = evaluate(*node.items[i]);
    if (!compare_one(node.compares[i], left, right)) {
      return false;
    }
    left = right;
  }
  return true;
}

Value Interpreter::item(const Node &node) {
  Value object = evaluate(*node.a);
  Value key = evaluate(*node.b);
  if (node.b->op == Op::slice) {
    return runtime_.get_slice(object, *key.slice);
  }
  return runtime_.get_item(object, key);
}

Arguments Interpreter::arguments(const Node &node, const Value *first, const Value *caller) {
  std::size_t before = first == nullptr ? 0 : 1;
  std::size_t count = node.items.size() + before;
  auto *positional = runtime_.arena.array<Value>(count);
  if (first != nullptr) {
    positional[0] = *first;
  }
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    positional[i + before] = evaluate(*node.items[i]);
  }
  std::size_t keyword_count = node.extra.size() + static_cast<std::size_t>(caller != nullptr);
  auto *keywords = runtime_.arena.array<Keyword>(keyword_count);
  for (std::size_t i = 0; i < node.extra.size(); ++i) {
    keywords[i] = {node.extra[i]->name, evaluate(*node.extra[i]->a)};
  }
  if (caller != nullptr) {
    keywords[keyword_count - 1] = {runtime_.str("caller"), *caller};
  }
  Arguments result{{positional, count}, {keywords, keyword_count}};
  if (node.b != nullptr) {
    Value more = evaluate(*node.b);
    if (!runtime_.iterable(more)) {
      raise(ErrorClass::TypeError,
            fmt::format("Value after * must be an iterable, not {}", type_name(more)));
    }
    std::span<const Value> items = runtime_.items(more);
    auto *all = runtime_.arena.array<Value>(count + items.size());
    std::copy_n(positional, count, all);
    std::copy(items.begin(), items.end(), all + count);
    result.positional = {all, count + items.size()};
  }
  if (node.c != nullptr) {
    Value more = evaluate(*node.c);
    if (more.is_undefined()) {
      runtime_.fail_undefined(*more.undefined);
    }
    if (!more.is_dict()) {
      raise(ErrorClass::TypeError,
            fmt::format("argument after ** must be a mapping, not {}", type_name(more)));
    }
    auto *all = runtime_.arena.array<Keyword>(keyword_count + more.dict->count);
    std::copy_n(keywords, keyword_count, all);
    std::size_t at = keyword_count;
    for (const DictEntry &entry : more.dict->all()) {
      if (!entry.key.is_string()) {
        raise(ErrorClass::TypeError, "keywords must be strings");
      }
      for (std::size_t i = 0; i < keyword_count; ++i) {
        if (keywords[i].name->view() == entry.key.string->view()) {
          raise(ErrorClass::TypeError, fmt::format("got multiple values for keyword argument {}",
                                                   runtime_.repr(entry.key)));
        }
      }
      all[at++] = {entry.key.string, entry.value};
    }
    result.keywords = {all, at};
  }
  return result;
}

Value Interpreter::call(const Node &node, const Value *caller) {
  Value callee = evaluate(*node.a);
  return runtime_.call(callee, arguments(node, nullptr, caller));
}

Value Interpreter::built_in(const Node &node, const Value *subject) {
  Value value;
  if (node.a != nullptr) {
    // In a chain of a filter block only the innermost takes the block's text.
    value = subject != nullptr && node.a->op == Op::filter ? built_in(*node.a, subject)
                                                           : evaluate(*node.a);
  } else {
    value = *subject;
  }
  Arguments given = arguments(node, &value, nullptr);
  if (node.built_in == nullptr) {
    raise(ErrorClass::TemplateRuntimeError,
          fmt::format("No {} named {} found.", node.op == Op::filter ? "filter" : "test",
                      runtime_.repr(Value(node.name))));
  }
  return node.built_in(runtime_, given);
}

} // namespace headwater::jinja
