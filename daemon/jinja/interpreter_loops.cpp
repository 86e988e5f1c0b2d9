// Loops, macros, call blocks and blocks, and what templates read of them.

#include "daemon/jinja/interpreter.hpp"
#include "daemon/jinja/text.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace headwater::jinja {

Feed Interpreter::make_feed(const Value &iterable, const Node &node) {
  Feed feed;
  if (iterable.is(Kind::iterator)) {
    feed.iterator = iterable.iterator;
  } else {
    feed.items = runtime_.items(iterable);
  }
  if (node.c != nullptr) {
    feed.test = &node;
    feed.frame = frame_;
  }
  return feed;
}

Value Interpreter::feed_next(Feed &feed) {
  for (;;) {
    Value value;
    if (feed.iterator != nullptr) {
      value = runtime_.next(*feed.iterator);
      if (value.is_missing()) {
        return value;
      }
    } else {
      if (feed.next >= feed.items.size()) {
        return {};
      }
      value = feed.items[feed.next++];
    }
    runtime_.spend(1);
    if (feed.test == nullptr) {
      return value;
    }
    Activation *current = frame_;
    frame_ = feed.frame;
    if (!feed.entered) {
      enter(feed.test->scopes[1]);
      feed.entered = true;
    }
    bind(*feed.test->more[0], value);
    bool keep_it = truth(evaluate(*feed.test->c));
    frame_ = current;
    if (keep_it) {
      return value;
    }
  }
}

void Interpreter::for_loop(const Node &node, const Value &iterable) {
  if (!node.flag) {
    loop_body(node, iterable, 0, nullptr);
    return;
  }
  std::size_t begin = begin_capture();
  recursive_loop(node, iterable, 0, frame_);
  write(Value(captured(begin)));
}

void Interpreter::recursive_loop(const Node &node, const Value &iterable, std::int64_t depth,
                                 Activation *closure) {
  Activation *current = frame_;
  frame_ = activate(*node.function, closure);
  loop_body(node, iterable, depth, closure);
  frame_ = current;
}

void Interpreter::loop_body(const Node &node, const Value &iterable, std::int64_t depth,
                            Activation *closure) {
  Feed feed = make_feed(iterable, node);
  Loop *loop = nullptr;
  if (node.other) {
    loop = runtime_.arena.make<Loop>();
    loop->feed = runtime_.arena.make<Feed>(feed);
    loop->iterable = iterable;
    loop->depth0 = depth;
    if (node.flag) {
      loop->recursive = &node;
      loop->closure = closure;
    }
  }
  bool ran = false;
  const ScopeCode &scope = node.scopes[0];
  for (;;) {
    Value value;
    if (loop == nullptr) {
      value = feed_next(feed);
    } else if (!loop->after.is_missing()) {
      value = loop->after;
      loop->after = Value();
    } else {
      value = feed_next(*loop->feed);
    }
    if (value.is_missing()) {
      break;
    }
    if (loop != nullptr) {
      ++loop->index0;
      loop->before = loop->current;
      loop->current = value;
      Value self = Value::of(Kind::loop);
      self.loop = loop;
      frame_->slots[node.loop_slot] = self;
    }
    bind(*node.a, value);
    enter(scope);
    Flow flow = execute(node.items);
    if (flow == Flow::stop) {
      // As in the compiled code, a break leaves the marker of `else` as it was.
      leave(scope);
      if (!ran && !node.extra.empty()) {
        enter(node.scopes[2]);
        execute(node.extra);
        leave(node.scopes[2]);
      }
      return;
    }
    ran = ran || flow == Flow::normal;
  }
  leave(scope);
  if (!ran && !node.extra.empty()) {
    enter(node.scopes[2]);
    execute(node.extra);
    leave(node.scopes[2]);
  }
}

Value Interpreter::loop_peek(Loop &loop) {
  if (loop.after.is_missing()) {
    loop.after = feed_next(*loop.feed);
  }
  return loop.after;
}

std::int64_t Interpreter::loop_length(Loop &loop) {
  if (loop.length >= 0) {
    return loop.length;
  }
  if (loop.feed->test == nullptr && loop.feed->iterator == nullptr) {
    loop.length = runtime_.length(loop.iterable);
    return loop.length;
  }
  std::vector<Value> rest;
  for (Value value = feed_next(*loop.feed); !value.is_missing(); value = feed_next(*loop.feed)) {
    rest.push_back(value);
  }
  loop.length = static_cast<std::int64_t>(rest.size()) + loop.index0 + 1 +
                static_cast<std::int64_t>(!loop.after.is_missing());
  *loop.feed = Feed{};
  loop.feed->items = make_sequence(runtime_.arena, rest)->all();
  return loop.length;
}

const Iterator &Interpreter::loop_rest(Loop &loop) {
  std::vector<Value> rest;
  Value self = Value::of(Kind::loop);
  self.loop = &loop;
  for (Value value = loop_peek(loop); !value.is_missing(); value = loop_peek(loop)) {
    loop.after = Value();
    ++loop.index0;
    loop.before = loop.current;
    loop.current = value;
    rest.push_back(runtime_.tuple({value, self}));
  }
  const Sequence *items = make_sequence(runtime_.arena, rest);
  Iterator *iterator = runtime_.arena.make<Iterator>();
  iterator->items = items->items;
  iterator->count = items->count;
  return *iterator;
}

Macro *Interpreter::make_macro(const Node &node) {
  return runtime_.arena.make<Macro>(node.function, &node, frame_, runtime_.autoescape);
}

Value Interpreter::call_macro(Macro &macro, const Arguments &given) {
  const FunctionCode &code = *macro.code;
  runtime_.spend(2);
  if (++runtime_.depth > runtime_.bounds.call_depth) {
    raise(ErrorClass::RecursionError, "maximum recursion depth exceeded");
  }
  Activation *inner = activate(code, macro.closure);
  std::size_t count = code.arguments.size();
  std::size_t taken = std::min(count, given.positional.size());
  std::vector<bool> used(given.keywords.size(), false);
  auto keyword = [&](std::string_view name) -> const Value * {
    for (std::size_t i = 0; i < given.keywords.size(); ++i) {
      if (!used[i] && given.keywords[i].name->view() == name) {
        used[i] = true;
        return &given.keywords[i].value;
      }
    }
    return nullptr;
  };
  for (std::size_t i = 0; i < taken; ++i) {
    inner->slots[code.argument_slots[i]] = given.positional[i];
  }
  bool found_caller = taken == count && code.explicit_caller;
  for (std::size_t i = taken; i < count; ++i) {
    if (const Value *value = keyword(code.arguments[i]->view()); value != nullptr) {
      inner->slots[code.argument_slots[i]] = *value;
    }
    found_caller = found_caller || code.arguments[i]->view() == "caller";
  }
  std::string name = code.name == nullptr ? "None" : runtime_.repr(Value(code.name));
  if (code.takes_caller && !found_caller) {
    const Value *caller = keyword("caller");
    if (code.caller_slot >= 0) {
      inner->slots[code.caller_slot] = caller != nullptr && !caller->is_none()
                                           ? *caller
                                           : runtime_.undefined_hint("No caller defined", "caller");
    }
  }
  if (code.kwargs_slot >= 0) {
    Dict *rest = make_dict(runtime_.arena, 0);
    for (std::size_t i = 0; i < given.keywords.size(); ++i) {
      if (!used[i]) {
        runtime_.set(*rest, Value(given.keywords[i].name), given.keywords[i].value);
      }
    }
    inner->slots[code.kwargs_slot] = Value(rest);
  } else {
    std::string_view first;
    bool caller_twice = false;
    for (std::size_t i = 0; i < given.keywords.size(); ++i) {
      if (!used[i]) {
        first = first.empty() ? given.keywords[i].name->view() : first;
        caller_twice = caller_twice || given.keywords[i].name->view() == "caller";
      }
    }
    if (caller_twice) {
      raise(
          ErrorClass::TypeError,
          fmt::format(
              "macro {} was invoked with two values for the special caller argument. This is most "
              "likely a bug.",
              name));
    }
    if (!first.empty()) {
      std::string shown;
      append_text_repr(shown, first);
      raise(ErrorClass::TypeError,
            fmt::format("macro {} takes no keyword argument {}", name, shown));
    }
  }
  if (code.varargs_slot >= 0) {
    inner->slots[code.varargs_slot] = runtime_.tuple(given.positional.subspan(taken));
  } else if (given.positional.size() > count) {
    raise(ErrorClass::TypeError,
          fmt::format("macro {} takes not more than {} argument(s)", name, count));
  }
  Activation *current = frame_;
  frame_ = inner;
  int line = line_;
  std::size_t begin = begin_capture();
  enter(code.scope);
  Nodes defaults = macro.node->more;
  std::size_t first_default = count - defaults.size();
  for (std::size_t i = 0; i < count; ++i) {
    Value &slot = inner->slots[code.argument_slots[i]];
    if (!slot.is_missing()) {
      continue;
    }
    if (i >= first_default) {
      slot = evaluate(*defaults[i - first_default]);
    } else {
      slot = runtime_.undefined_hint(
          fmt::format("parameter {} was not provided", runtime_.repr(Value(code.arguments[i]))),
          code.arguments[i]->view());
    }
  }
  execute(macro.node->items);
  const Str *text = captured(begin);
  line_ = line;
  frame_ = current;
  --runtime_.depth;
  return text;
}

Value Interpreter::call_loop(Loop &loop, const Arguments &given) {
  if (loop.recursive == nullptr) {
    raise(ErrorClass::TypeError,
          "The loop must have the 'recursive' marker to be called recursively.");
  }
  if (given.positional.size() + given.keywords.size() != 1) {
    raise(ErrorClass::TypeError,
          given.positional.empty()
              ? std::string(
                    "LoopContext.__call__() missing 1 required positional argument: 'iterable'")
              : fmt::format("LoopContext.__call__() takes 2 positional arguments but {} were given",
                            given.positional.size() + 1));
  }
  if (++runtime_.depth > runtime_.bounds.call_depth) {
    raise(ErrorClass::RecursionError, "maximum recursion depth exceeded");
  }
  Value iterable = given.positional.empty() ? given.keywords[0].value : given.positional[0];
  std::size_t begin = begin_capture();
  recursive_loop(*loop.recursive, iterable, loop.depth0 + 1, loop.closure);
  --runtime_.depth;
  return captured(begin);
}

void Interpreter::call_block_statement(const Node &node) {
  Value caller = Value::of(Kind::macro);
  caller.macro = make_macro(node);
  write(call(*node.a, &caller));
}

void Interpreter::generation(const Node &node) {
  Macro *macro = make_macro(node);
  std::size_t start = captures_ == 0 ? out_.size() : root_length_;
  Value text = call_macro(*macro, {});
  // `end` holds the length in code points until take() turns the start into code points too.
  generation_.push_back({start, text.string->length});
  write(text);
}

void Interpreter::block(const Node &node) {
  for (const Block &known : program_.blocks) {
    if (known.name != node.name) {
      continue;
    }
    if (known.node->other) {
      raise(ErrorClass::TemplateRuntimeError,
            fmt::format("Required block {} not found", runtime_.repr(Value(node.name))));
    }
    std::vector<Value> saved = context_;
    if (!node.scopes.empty()) {
      for (const Load &load : node.scopes[0].enter) {
        Value value = at(load.from);
        if (!value.is_missing()) {
          context_[static_cast<std::size_t>(load.variable)] = value;
        }
      }
    }
    Activation *current = frame_;
    frame_ = activate(*known.node->function, nullptr);
    enter(known.node->function->scope);
    provide_self(known.node->function->self_slot);
    execute(known.node->items);
    frame_ = current;
    context_ = std::move(saved);
  }
}

Value Interpreter::call_block(const BlockReference &reference) {
  if (reference.node == nullptr) {
    raise(ErrorClass::TypeError, "'TemplateReference' object is not callable");
  }
  if (++runtime_.depth > runtime_.bounds.call_depth) {
    raise(ErrorClass::RecursionError, "maximum recursion depth exceeded");
  }
  std::size_t begin = begin_capture();
  Activation *current = frame_;
  frame_ = activate(*reference.node->function, nullptr);
  enter(reference.node->function->scope);
  provide_self(reference.node->function->self_slot);
  execute(reference.node->items);
  frame_ = current;
  --runtime_.depth;
  return captured(begin);
}

Value Interpreter::block_attribute(const BlockReference &reference, std::string_view name) {
  if (reference.node == nullptr) {
    for (const Block &known : program_.blocks) {
      if (known.name->view() == name) {
        Value value = Value::of(Kind::block_reference);
        value.block = runtime_.arena.make<BlockReference>(known.node);
        return value;
      }
    }
  } else if (name == "name") {
    return reference.node->name;
  }
  return {};
}

std::string Interpreter::block_repr(const BlockReference &reference) {
  return reference.node == nullptr ? "<TemplateReference None>"
                                   : "<jinja2.runtime.BlockReference object at 0x0>";
}

Value Interpreter::macro_attribute(const Macro &macro, std::string_view name) {
  const FunctionCode &code = *macro.code;
  if (name == "name") {
    return code.name == nullptr ? Value::none() : Value(code.name);
  }
  if (name == "arguments") {
    std::vector<Value> names(code.arguments.begin(), code.arguments.end());
    return runtime_.tuple(names);
  }
  if (name == "catch_kwargs") {
    return code.kwargs_slot >= 0;
  }
  if (name == "catch_varargs") {
    return code.varargs_slot >= 0;
  }
  if (name == "caller") {
    return code.takes_caller;
  }
  if (name == "explicit_caller") {
    return code.explicit_caller;
  }
  return {};
}

std::string Interpreter::macro_repr(const Macro &macro) {
  return macro.code->name == nullptr
             ? "<Macro anonymous>"
             : fmt::format("<Macro {}>", runtime_.repr(Value(macro.code->name)));
}

namespace {

Value loop_cycle(Runtime &, const Value &self, const Arguments &arguments) {
  if (arguments.positional.empty()) {
    raise(ErrorClass::TypeError, "no items for cycling given");
  }
  auto index = static_cast<std::size_t>(self.loop->index0);
  return arguments.positional[index % arguments.positional.size()];
}

Value loop_changed(Runtime &runtime, const Value &self, const Arguments &arguments) {
  Value values = runtime.tuple(arguments.positional);
  if (!self.loop->last_changed.is_missing() && runtime.is_equal(self.loop->last_changed, values)) {
    return false;
  }
  self.loop->last_changed = values;
  return true;
}

} // namespace

Value Interpreter::loop_attribute(Loop &loop, std::string_view name) {
  if (name == "index") {
    return loop.index0 + 1;
  }
  if (name == "index0") {
    return loop.index0;
  }
  if (name == "first") {
    return loop.index0 == 0;
  }
  if (name == "last") {
    return loop_peek(loop).is_missing();
  }
  if (name == "length") {
    return loop_length(loop);
  }
  if (name == "revindex0") {
    return loop_length(loop) - loop.index0 - 1;
  }
  if (name == "revindex") {
    return loop_length(loop) - loop.index0;
  }
  if (name == "depth") {
    return loop.depth0 + 1;
  }
  if (name == "depth0") {
    return loop.depth0;
  }
  if (name == "previtem") {
    return loop.index0 == 0 ? runtime_.undefined_hint("there is no previous item") : loop.before;
  }
  if (name == "nextitem") {
    Value next = loop_peek(loop);
    return next.is_missing() ? runtime_.undefined_hint("there is no next item") : next;
  }
  Value self = Value::of(Kind::loop);
  self.loop = &loop;
  if (name == "cycle") {
    return Value(runtime_.arena.make<const Function>("cycle", loop_cycle, self));
  }
  if (name == "changed") {
    return Value(runtime_.arena.make<const Function>("changed", loop_changed, self));
  }
  return {};
}

} // namespace headwater::jinja
