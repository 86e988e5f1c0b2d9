// Where each name of a template lives. jinja2 compiles a template to Python functions whose local
// variables are named after scopes; which variable a name means follows from where it is stored and
// read in a scope, not from what runs first. This is that analysis (jinja2's idtracking and the
// scoping half of its compiler), with slots of frames in place of Python's locals.

#include "daemon/jinja/ast.hpp"
#include "daemon/jinja/lexer.hpp"
#include "daemon/jinja/scopes.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace headwater::jinja {

namespace scoping {

namespace {

constexpr int max_nested_loops = 20;
constexpr int max_indentation = 99;

/// What jinja2's compiler knows where it is.
struct Frame {
  Scope *scope;
  bool toplevel = false;
  bool soft = false;
};

class Resolver {
public:
  explicit Resolver(Program &program)
      : program_(program), arena_(program.arena), work_{program.limits.parse_steps} {}

  void run() {
    for (Node *node : program_.body) {
      collect_blocks(node);
    }
    Function *function = new_function(nullptr);
    Scope *root = new_scope(nullptr, function);
    FunctionCode code;
    code.self_slot = self_slot(*root, program_.body);
    analyze(*root, program_.body);
    statements(program_.body, Frame{root, true, false});
    code.scope = scope_code(*root, false);
    code.slots = static_cast<std::int32_t>(function->locals.size());
    program_.root = arena_.make<FunctionCode>(code);
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      resolve_block(blocks_[i]);
    }
  }

private:
  [[noreturn]] static void fail(std::string message, int line) {
    throw CompileError{"TemplateAssertionError", std::move(message), line};
  }

  Function *new_function(Function *outer) {
    functions_.push_back(std::make_unique<Function>());
    functions_.back()->work = &work_;
    functions_.back()->outer = outer;
    functions_.back()->depth = outer == nullptr ? 0 : outer->depth + 1;
    return functions_.back().get();
  }
  Scope *new_scope(Scope *parent, Function *function, int space = 0) {
    scopes_.push_back(std::make_unique<Scope>());
    Scope *scope = scopes_.back().get();
    scope->parent = parent;
    scope->function = function;
    scope->level = parent == nullptr ? 0 : parent->level + 1;
    scope->space = space;
    return scope;
  }
  /// Where code that names `self` has it, or -1.
  std::int32_t self_slot(Scope &scope, Nodes body) {
    Undeclared self({"self"});
    self.visit(body);
    return self.has("self") ? scope.declare_parameter(keep_name("self", body)).slot : -1;
  }
  const Str *keep_name(std::string_view text, Nodes body) {
    // Names were interned by the parser: the same text must give the same pointer.
    for (Node *node : body) {
      const Str *found = nullptr;
      any_node(node, [&](const Node *other) {
        if (other->op == Op::name && other->name->view() == text) {
          found = other->name;
        }
        return found != nullptr;
      });
      if (found != nullptr) {
        return found;
      }
    }
    return make_str(arena_, text);
  }
  std::int32_t variable(const Str *name) {
    work_.spend(program_.context_names.size());
    for (std::size_t i = 0; i < program_.context_names.size(); ++i) {
      if (program_.context_names[i] == name) {
        return static_cast<std::int32_t>(i);
      }
    }
    program_.context_names.push_back(name);
    return static_cast<std::int32_t>(program_.context_names.size() - 1);
  }

  void collect_blocks(Node *node) {
    any_node(node, [&](const Node *other) {
      if (other->op == Op::block) {
        work_.spend(blocks_.size());
        for (const Node *known : blocks_) {
          if (known->name == other->name) {
            std::string shown;
            append_text_repr(shown, other->name->view());
            fail(fmt::format("block {} defined twice", shown), other->line);
          }
        }
        blocks_.push_back(const_cast<Node *>(other));
      }
      return false;
    });
  }

  // ---- analysis of one scope: which names it stores and loads

  void analyze(Scope &scope, Nodes nodes) {
    for (Node *node : nodes) {
      analyze(scope, node);
    }
  }

  void analyze(Scope &scope, Node *node, bool as_parameter = false) {
    if (node == nullptr) {
      return;
    }
    switch (node->op) {
    case Op::name:
      if (as_parameter || node->context == Context::param) {
        scope.declare_parameter(node->name);
      } else if (node->context == Context::store) {
        scope.store(node->name);
      } else {
        scope.load(node->name);
      }
      return;
    case Op::namespace_ref:
      scope.load(node->name);
      return;
    case Op::branch: {
      analyze(scope, node->a);
      std::vector<Scope> branches;
      for (Nodes part : {node->items, node->extra, node->more}) {
        work_.spend(scope.refs.size() + scope.loads.size() + scope.stores.size());
        Scope branch = scope;
        analyze(branch, part);
        branches.push_back(std::move(branch));
      }
      scope.merge_branches(branches);
      return;
    }
    case Op::macro:
      scope.store(node->name);
      return;
    case Op::import:
      analyze(scope, node->a);
      scope.store(node->name);
      return;
    case Op::assign:
      analyze(scope, node->b);
      analyze(scope, node->a);
      return;
    case Op::loop:
      analyze(scope, node->b);
      return;
    case Op::call_block:
    case Op::filter_block:
      analyze(scope, node->a);
      return;
    case Op::generation:
    case Op::autoescape:
    case Op::block:
      return;
    case Op::with:
      analyze(scope, node->more);
      return;
    case Op::assign_block:
      analyze(scope, node->a);
      return;
    default:
      // A tuple of targets of a loop passes on that they are parameters.
      children(*node,
               [&](Node *child) { analyze(scope, child, as_parameter && node->op == Op::tuple); });
    }
  }

  // ---- code

  Place place_of(const Ident &ident, const Scope &from) const {
    return {static_cast<std::int32_t>(from.function->depth - ident.function->depth), ident.slot};
  }

  const Ident &reference(const Str *name, const Scope &scope) const {
    const Ident *ident = scope.find(name);
    if (ident == nullptr) {
      std::string shown;
      append_text_repr(shown, name->view());
      throw CompileError{
          "AssertionError",
          fmt::format("Tried to resolve a name to a reference that was unknown to the frame ({})",
                      shown),
          0};
    }
    return *ident;
  }

  ScopeCode scope_code(const Scope &scope, bool leave) {
    std::vector<Load> enter;
    std::vector<std::int32_t> left;
    for (const ScopeLoad &load : scope.loads) {
      if (leave) {
        left.push_back(load.ident.slot);
      }
      if (load.action == Action::resolve) {
        enter.push_back({LoadKind::resolve, load.ident.slot, {}, variable(load.name)});
      } else if (load.action == Action::alias) {
        enter.push_back({LoadKind::alias, load.ident.slot, place_of(load.from, scope), 0});
      }
    }
    for (const ScopeLoad &load : scope.loads) {
      if (load.action == Action::unset) {
        enter.push_back({LoadKind::unset, load.ident.slot, {}, 0});
      }
    }
    return {keep(arena_, enter), keep(arena_, left)};
  }

  void statements(Nodes nodes, Frame frame) {
    if (++indentation_ > max_indentation) {
      throw CompileError{"IndentationError", "too many levels of indentation", 0};
    }
    for (Node *node : nodes) {
      statement(node, frame);
    }
    --indentation_;
  }

  void statement(Node *node, Frame frame) {
    switch (node->op) {
    case Op::data:
      return;
    case Op::print:
      expression(node->a, frame);
      return;
    case Op::assign:
      assign(node, frame);
      return;
    case Op::assign_block:
      assign_block(node, frame);
      return;
    case Op::loop:
      loop(node, frame);
      return;
    case Op::branch: {
      Frame inside = frame;
      inside.soft = true;
      expression(node->a, inside);
      statements(node->items, inside);
      for (Node *other : node->extra) {
        expression(other->a, inside);
        statements(other->items, inside);
      }
      statements(node->more, inside);
      return;
    }
    case Op::with:
      with(node, frame);
      return;
    case Op::macro:
      function(node, frame);
      node->place = place_of(reference(node->name, *frame.scope), *frame.scope);
      if (frame.toplevel && !blocks_.empty()) {
        node->variable = variable(node->name);
      }
      return;
    case Op::call_block:
      function(node, frame);
      expression(node->a, frame);
      return;
    case Op::generation:
      function(node, frame);
      return;
    case Op::filter_block: {
      Scope *scope = new_scope(frame.scope, frame.scope->function);
      analyze(*scope, node->items);
      analyze(*scope, node->a);
      Frame inside{scope, false, false};
      statements(node->items, inside);
      expression(node->a, inside);
      set_scopes(node, {scope_code(*scope, true)});
      return;
    }
    case Op::autoescape: {
      Scope *scope = new_scope(frame.scope, frame.scope->function);
      analyze(*scope, node->a);
      analyze(*scope, node->items);
      Frame inside{scope, false, false};
      expression(node->a, inside);
      statements(node->items, inside);
      set_scopes(node, {scope_code(*scope, true)});
      return;
    }
    case Op::block:
      block(node, frame);
      return;
    case Op::extends:
      if (!frame.toplevel) {
        fail("cannot use extend from a non top-level scope", node->line);
      }
      expression(node->a, frame);
      return;
    case Op::include:
    case Op::import:
    case Op::from_import:
      expression(node->a, frame);
      return;
    case Op::break_loop:
    case Op::continue_loop:
      if (frame.scope->function->loops == 0) {
        throw CompileError{"SyntaxError",
                           node->op == Op::break_loop ? "'break' outside loop"
                                                      : "'continue' not properly in loop",
                           0};
      }
      return;
    default:
      expression(node, frame);
    }
  }

  void set_scopes(Node *node, const std::vector<ScopeCode> &codes) {
    node->scopes = keep(arena_, codes);
  }

  void assign(Node *node, Frame frame) {
    std::vector<Place> namespaces;
    std::vector<const Str *> seen;
    any_node(node, [&](const Node *part) {
      if (part->op == Op::namespace_ref &&
          std::find(seen.begin(), seen.end(), part->name) == seen.end()) {
        seen.push_back(part->name);
        namespaces.push_back(place_of(reference(part->name, *frame.scope), *frame.scope));
      }
      return false;
    });
    node->places = keep(arena_, namespaces);
    expression(node->a, frame);
    expression(node->b, frame);
  }

  void assign_block(Node *node, Frame frame) {
    Scope *scope = new_scope(frame.scope, frame.scope->function);
    analyze(*scope, node->items);
    Frame inside{scope, false, false};
    statements(node->items, inside);
    expression(node->a, frame);
    if (node->b != nullptr) {
      expression(node->b, inside);
    }
    set_scopes(node, {scope_code(*scope, true)});
  }

  Node *clone_target(const Node *target) {
    Node *copy = arena_.make<Node>(*target);
    std::vector<Node *> items;
    for (const Node *item : target->items) {
      items.push_back(clone_target(item));
    }
    copy->items = keep(arena_, items);
    return copy;
  }

  void loop(Node *node, Frame frame) {
    Undeclared uses({"loop"});
    uses.visit(node->items);
    bool extended = node->flag || uses.has("loop") || any_node(node, [](const Node *other) {
                      return other->op == Op::block && other->flag;
                    });
    node->other = extended;
    Function *outer = frame.scope->function;
    Function *function = node->flag ? new_function(outer) : outer;
    Scope *body = new_scope(frame.scope, function);
    Scope *test = new_scope(frame.scope, function, ++spaces_);
    Scope *otherwise = new_scope(frame.scope, function);
    if (extended) {
      node->loop_slot = body->declare_parameter(loop_name(node)).slot;
    }
    analyze(*body, node->a, true);
    analyze(*body, node->items);
    analyze(*otherwise, node->extra);
    any_node(node, [&](const Node *name) {
      if (name->op == Op::name && name->context == Context::store && name->name->view() == "loop") {
        fail("Can't assign to special loop variable in for-loop target", name->line);
      }
      return false;
    });
    if (node->c != nullptr) {
      std::vector<Node *> target{clone_target(node->a)};
      node->more = keep(arena_, target);
      analyze(*test, target[0], true);
      analyze(*test, node->c);
      Frame inside{test, false, false};
      expression(target[0], inside);
      expression(node->c, inside);
    }
    Frame inside{body, false, false};
    expression(node->a, inside);
    expression(node->b, frame);
    if (++function->loops > max_nested_loops) {
      throw CompileError{"SyntaxError", "too many statically nested blocks", 0};
    }
    statements(node->items, inside);
    --function->loops;
    if (!node->extra.empty()) {
      statements(node->extra, Frame{otherwise, false, false});
    }
    bool python_scope = node->flag && node->extra.empty();
    set_scopes(node, {scope_code(*body, !python_scope), scope_code(*test, false),
                      scope_code(*otherwise, true)});
    if (node->flag) {
      FunctionCode code;
      code.slots = static_cast<std::int32_t>(function->locals.size());
      node->function = arena_.make<FunctionCode>(code);
    }
  }

  const Str *loop_name(const Node *node) {
    const Str *found = nullptr;
    any_node(node, [&](const Node *other) {
      if (other->op == Op::name && other->name->view() == "loop") {
        found = other->name;
      }
      return found != nullptr;
    });
    return found != nullptr ? found : make_str(arena_, "loop");
  }

  void with(Node *node, Frame frame) {
    Scope *scope = new_scope(frame.scope, frame.scope->function);
    analyze(*scope, node->extra);
    analyze(*scope, node->items);
    Frame inside{scope, false, false};
    for (Node *target : node->extra) {
      expression(target, inside);
    }
    for (Node *value : node->more) {
      expression(value, frame);
    }
    statements(node->items, inside);
    set_scopes(node, {scope_code(*scope, true)});
  }

  /// A macro's, call block's or generation block's body: a function of its own.
  void function(Node *node, Frame frame) {
    Function *inner = new_function(frame.scope->function);
    Scope *scope = new_scope(frame.scope, inner);
    analyze(*scope, node->extra);
    analyze(*scope, node->more);
    analyze(*scope, node->items);
    FunctionCode code;
    code.name = node->op == Op::macro ? node->name : nullptr;
    std::vector<const Str *> names;
    std::vector<std::int32_t> slots;
    std::ptrdiff_t explicit_caller = -1;
    bool own_kwargs = false;
    bool own_varargs = false;
    for (std::size_t i = 0; i < node->extra.size(); ++i) {
      const Str *name = node->extra[i]->name;
      if (name->view() == "caller") {
        explicit_caller = static_cast<std::ptrdiff_t>(i);
      }
      own_kwargs = own_kwargs || name->view() == "kwargs";
      own_varargs = own_varargs || name->view() == "varargs";
      names.push_back(name);
      slots.push_back(reference(name, *scope).slot);
    }
    Undeclared special({"caller", "kwargs", "varargs"});
    special.visit(node->items);
    if (special.has("caller")) {
      code.takes_caller = true;
      if (explicit_caller >= 0) {
        std::size_t without_default = node->extra.size() - node->more.size();
        if (static_cast<std::size_t>(explicit_caller) < without_default) {
          fail("When defining macros or call blocks the special \"caller\" argument must be "
               "omitted or be "
               "given a default.",
               node->line);
        }
      } else {
        code.caller_slot = scope->declare_parameter(special_name(node, "caller")).slot;
      }
    }
    code.explicit_caller = explicit_caller >= 0;
    if (special.has("kwargs") && !own_kwargs) {
      code.kwargs_slot = scope->declare_parameter(special_name(node, "kwargs")).slot;
    }
    if (special.has("varargs") && !own_varargs) {
      code.varargs_slot = scope->declare_parameter(special_name(node, "varargs")).slot;
    }
    Frame inside{scope, false, false};
    // While defaults are worked out, a parameter further to the right may still be unset.
    std::vector<Ident> open;
    for (const ScopeLoad &load : scope->loads) {
      if (load.action == Action::parameter) {
        open.push_back(load.ident);
      }
    }
    undeclared_.push_back(std::move(open));
    std::size_t first_default = node->extra.size() - node->more.size();
    for (std::size_t i = 0; i < node->extra.size(); ++i) {
      if (i >= first_default) {
        expression(node->more[i - first_default], inside);
      }
      std::erase(undeclared_.back(), Ident{inner, slots[i]});
    }
    undeclared_.pop_back();
    statements(node->items, inside);
    code.scope = scope_code(*scope, false);
    code.slots = static_cast<std::int32_t>(inner->locals.size());
    code.arguments = keep(arena_, names);
    code.argument_slots = keep(arena_, slots);
    node->function = arena_.make<FunctionCode>(code);
  }

  const Str *special_name(const Node *node, std::string_view name) {
    const Str *found = nullptr;
    any_node(node, [&](const Node *other) {
      if (other->op == Op::name && other->name->view() == name) {
        found = other->name;
      }
      return found != nullptr;
    });
    return found;
  }

  void block(Node *node, Frame frame) {
    if (!node->flag) {
      return;
    }
    // A scoped block sees what its surroundings stored.
    std::vector<Load> visible;
    for (const Scope *scope = frame.scope; scope != nullptr; scope = scope->parent) {
      for (const Str *name : scope->stores) {
        std::int32_t number = variable(name);
        bool known = std::any_of(visible.begin(), visible.end(),
                                 [&](const Load &load) { return load.variable == number; });
        if (!known) {
          visible.push_back(
              {LoadKind::alias, -1, place_of(*frame.scope->find(name), *frame.scope), number});
        }
      }
    }
    set_scopes(node, {ScopeCode{keep(arena_, visible), {}}});
  }

  void resolve_block(Node *node) {
    Function *function = new_function(nullptr);
    Scope *scope = new_scope(nullptr, function);
    FunctionCode code;
    code.self_slot = self_slot(*scope, node->items);
    analyze(*scope, node->items);
    indentation_ = 0;
    statements(node->items, Frame{scope, false, false});
    code.scope = scope_code(*scope, false);
    code.slots = static_cast<std::int32_t>(function->locals.size());
    node->function = arena_.make<FunctionCode>(code);
    program_.blocks.push_back({node->name, node});
  }

  // ---- expressions

  void expression(Node *node, Frame frame) {
    switch (node->op) {
    case Op::name: {
      const Ident &ident = reference(node->name, *frame.scope);
      node->place = place_of(ident, *frame.scope);
      if (node->context == Context::load) {
        const ScopeLoad *load = frame.scope->find_load(ident);
        bool parameter = load != nullptr && load->action == Action::parameter;
        bool open = !undeclared_.empty() &&
                    std::find(undeclared_.back().begin(), undeclared_.back().end(), ident) !=
                        undeclared_.back().end();
        node->checked = !parameter || open;
      } else if (frame.toplevel && !blocks_.empty()) {
        node->variable = variable(node->name);
      }
      return;
    }
    case Op::namespace_ref:
      node->place = place_of(reference(node->name, *frame.scope), *frame.scope);
      return;
    case Op::filter:
    case Op::test: {
      bool filter = node->op == Op::filter;
      node->built_in = filter ? find_filter(node->name->view()) : find_test(node->name->view());
      if (node->built_in == nullptr && !frame.soft) {
        std::string shown;
        append_text_repr(shown, node->name->view());
        fail(fmt::format("No {} named {}.", filter ? "filter" : "test", shown), node->line);
      }
      break;
    }
    case Op::condition:
      frame.soft = true;
      break;
    default:
      break;
    }
    children(*node, [&](Node *child) { expression(child, frame); });
  }

  Program &program_;
  Arena &arena_;
  LookUps work_;
  std::vector<std::unique_ptr<Function>> functions_;
  std::vector<std::unique_ptr<Scope>> scopes_;
  std::vector<Node *> blocks_;
  std::vector<std::vector<Ident>> undeclared_;
  int spaces_ = 0;
  int indentation_ = 0;
};

} // namespace

} // namespace scoping

void resolve_names(Program &program) {
  scoping::Resolver(program).run();
}

} // namespace headwater::jinja
