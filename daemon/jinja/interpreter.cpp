#include "daemon/jinja/interpreter.hpp"

#include "daemon/jinja/text.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace headwater::jinja {

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
  NativeDepth deeper(native_depth_);
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

} // namespace headwater::jinja
