#include "daemon/jinja/interpreter.hpp"

#include "daemon/jinja/text.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace headwater::jinja {

namespace {

constexpr int max_native_depth = 3000;

/// Counts how deep our own calls are: a template must not use up the stack.
struct Depth {
  explicit Depth(int &of) : depth(of) {
    if (++depth > max_native_depth) {
      raise(ErrorClass::RecursionError, "maximum recursion depth exceeded");
    }
  }
  Depth(const Depth &) = delete;
  Depth &operator=(const Depth &) = delete;
  ~Depth() { --depth; }
  int &depth;
};

} // namespace

Interpreter::Interpreter(const Program &program, const VariableSet &variables, const Limits &limits,
                         Clock now)
    : program_(program), runtime_(limits, now) {
  runtime_.callbacks = this;
  context_.reserve(program.context_names.size());
  for (const Str *name : program.context_names) {
    const Value *value = variables.values == nullptr ? nullptr : find(*variables.values, *name);
    if (value != nullptr) {
      context_.push_back(*value);
    } else if (const Function *global = find_global(name->view()); global != nullptr) {
      context_.push_back(Value(global));
    } else {
      context_.emplace_back();
    }
  }
}

void Interpreter::run() {
  frame_ = activate(*program_.root, nullptr);
  enter(program_.root->scope);
  provide_self(program_.root->self_slot);
  execute(program_.body);
}

void Interpreter::provide_self(std::int32_t slot) {
  if (slot >= 0) {
    Value self = Value::of(Kind::block_reference);
    self.block = runtime_.arena.make<BlockReference>(nullptr);
    frame_->slots[slot] = self;
  }
}

Rendered Interpreter::take() {
  // Spans were noted in bytes: count code points once, in order of their ends.
  Rendered rendered;
  rendered.generation.reserve(generation_.size());
  for (const Span &span : generation_) {
    std::string_view text = out_;
    std::size_t begin = count_code_points(text.substr(0, span.begin));
    rendered.generation.push_back({begin, begin + span.end});
  }
  rendered.output = std::move(out_);
  return rendered;
}

Activation *Interpreter::activate(const FunctionCode &code, Activation *outer) {
  auto *slots = runtime_.arena.array<Value>(static_cast<std::size_t>(code.slots));
  std::fill_n(slots, code.slots, Value());
  return runtime_.arena.make<Activation>(outer, slots);
}

void Interpreter::enter(const ScopeCode &scope) {
  for (const Load &load : scope.enter) {
    Value &slot = frame_->slots[load.slot];
    switch (load.kind) {
    case LoadKind::resolve:
      slot = context_[static_cast<std::size_t>(load.variable)];
      break;
    case LoadKind::alias:
      slot = at(load.from);
      break;
    case LoadKind::unset:
      slot = Value();
      break;
    }
  }
}

void Interpreter::leave(const ScopeCode &scope) {
  for (std::int32_t slot : scope.leave) {
    frame_->slots[slot] = Value();
  }
}

void Interpreter::check_output() const {
  if (out_.size() > runtime_.bounds.output_bytes) {
    raise(ErrorClass::Limit, "the template writes too much");
  }
}

void Interpreter::write(const Value &value) {
  if (runtime_.autoescape) {
    out_.append(runtime_.escape(value)->view());
  } else {
    runtime_.append_str(out_, value);
  }
  check_output();
}

std::size_t Interpreter::begin_capture() {
  if (captures_++ == 0) {
    root_length_ = out_.size();
  }
  return out_.size();
}

const Str *Interpreter::captured(std::size_t begin) {
  --captures_;
  const Str *text = runtime_.str(std::string_view(out_).substr(begin), runtime_.autoescape);
  out_.resize(begin);
  return text;
}

Interpreter::Flow Interpreter::execute(Nodes nodes) {
  for (const Node *node : nodes) {
    if (Flow flow = execute(*node); flow != Flow::normal) {
      return flow;
    }
  }
  return Flow::normal;
}

Interpreter::Flow Interpreter::execute(const Node &node) {
  runtime_.spend(1);
  if (node.op == Op::data) {
    out_.append(node.value.string->view());
    runtime_.spend(static_cast<std::int64_t>(node.value.string->bytes >> 6U));
    check_output();
    return Flow::normal;
  }
  Depth deeper(native_depth_);
  line_ = node.line;
  switch (node.op) {
  case Op::print:
    write(evaluate(*node.a));
    break;
  case Op::branch:
    return branch(node);
  case Op::assign:
    assign(node);
    break;
  case Op::loop:
    for_loop(node, evaluate(*node.b));
    break;
  case Op::assign_block:
    assign_block(node);
    break;
  case Op::macro: {
    Value value = Value::of(Kind::macro);
    value.macro = make_macro(node);
    at(node.place) = value;
    if (node.variable >= 0) {
      context_[static_cast<std::size_t>(node.variable)] = value;
    }
    break;
  }
  case Op::call_block:
    call_block_statement(node);
    break;
  case Op::generation:
    generation(node);
    break;
  case Op::filter_block: {
    enter(node.scopes[0]);
    std::size_t begin = begin_capture();
    execute(node.items);
    Value text = captured(begin);
    // The innermost filter of the chain has no node of its own: it takes the block's text.
    Value result = built_in(*node.a, &text);
    if (!result.is_string()) {
      // The compiled code adds it to the output as it is.
      raise(ErrorClass::TypeError,
            fmt::format("sequence item 0: expected str instance, {} found", type_name(result)));
    }
    write(result);
    leave(node.scopes[0]);
    break;
  }
  case Op::with: {
    enter(node.scopes[0]);
    for (std::size_t i = 0; i < node.extra.size(); ++i) {
      bind(*node.extra[i], evaluate(*node.more[i]));
    }
    Flow flow = execute(node.items);
    leave(node.scopes[0]);
    return flow;
  }
  case Op::autoescape:
    return autoescape(node);
  case Op::block:
    block(node);
    break;
  case Op::extends:
  case Op::include:
  case Op::import:
  case Op::from_import:
    evaluate(*node.a);
    raise(ErrorClass::TypeError, "no loader for this environment specified");
  case Op::break_loop:
    return Flow::stop;
  case Op::continue_loop:
    return Flow::next;
  default:
    evaluate(node);
  }
  return Flow::normal;
}

Interpreter::Flow Interpreter::branch(const Node &node) {
  if (truth(evaluate(*node.a))) {
    return execute(node.items);
  }
  for (const Node *other : node.extra) {
    line_ = other->line;
    if (truth(evaluate(*other->a))) {
      return execute(other->items);
    }
  }
  return execute(node.more);
}

Interpreter::Flow Interpreter::autoescape(const Node &node) {
  enter(node.scopes[0]);
  bool before = runtime_.autoescape;
  runtime_.autoescape = truth(evaluate(*node.a));
  Flow flow = execute(node.items);
  runtime_.autoescape = before;
  leave(node.scopes[0]);
  return flow;
}

void Interpreter::assign(const Node &node) {
  for (const Place &place : node.places) {
    if (!at(place).is(Kind::name_space)) {
      raise(ErrorClass::TemplateRuntimeError, "cannot assign attribute on non-namespace object");
    }
  }
  bind(*node.a, evaluate(*node.b));
}

void Interpreter::assign_block(const Node &node) {
  enter(node.scopes[0]);
  std::size_t begin = begin_capture();
  execute(node.items);
  Value text = captured(begin);
  if (node.b != nullptr) {
    text = built_in(*node.b, &text);
  }
  bind(*node.a, text);
  leave(node.scopes[0]);
}

void Interpreter::bind(const Node &target, const Value &value) {
  switch (target.op) {
  case Op::name:
    at(target.place) = value;
    if (target.variable >= 0) {
      context_[static_cast<std::size_t>(target.variable)] = value;
    }
    return;
  case Op::namespace_ref: {
    const Value &space = at(target.place);
    if (!space.is(Kind::name_space)) {
      raise(ErrorClass::TypeError,
            fmt::format("'{}' object does not support item assignment", type_name(space)));
    }
    const Str *name = target.value.string;
    if (name->view().starts_with('_')) {
      raise(ErrorClass::SecurityError,
            fmt::format("Chat templates cannot store underscore-prefixed attributes on a "
                        "namespace, but got {}. "
                        "Please rename the attribute.",
                        runtime_.repr(target.value)));
    }
    runtime_.set(*space.name_space->attributes, target.value, value);
    return;
  }
  default:
    unpack(target, value);
  }
}

void Interpreter::unpack(const Node &target, const Value &value) {
  if (value.is_undefined() && target.items.empty()) {
    return;
  }
  if (!runtime_.iterable(value)) {
    raise(ErrorClass::TypeError,
          fmt::format("cannot unpack non-iterable {} object", type_name(value)));
  }
  std::span<const Value> items = runtime_.items(value);
  if (items.size() > target.items.size()) {
    raise(ErrorClass::ValueError,
          fmt::format("too many values to unpack (expected {})", target.items.size()));
  }
  if (items.size() < target.items.size()) {
    raise(ErrorClass::ValueError, fmt::format("not enough values to unpack (expected {}, got {})",
                                              target.items.size(), items.size()));
  }
  for (std::size_t i = 0; i < items.size(); ++i) {
    bind(*target.items[i], items[i]);
  }
}

// ---- loops

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

// ---- macros and calls

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

// ---- attributes of the objects of this file

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

// ---- expressions

Value Interpreter::evaluate(const Node &node) {
  runtime_.spend(1);
  Depth deeper(native_depth_);
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
