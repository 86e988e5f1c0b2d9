#pragma once

#include "daemon/jinja/ast.hpp"
#include "daemon/jinja/lexer.hpp"

#include <algorithm>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

/// jinja2's own record of which names a scope stores and reads (its idtracking), and walks over a
/// tree.
namespace headwater::jinja::scoping {

/// What is left of the bound on look-ups of names.
struct LookUps {
  std::int64_t left;
  void spend(std::size_t entries) {
    left -= static_cast<std::int64_t>(entries);
    if (left < 0) {
      throw ParseLimit{"the template's names take too much work to resolve", 0};
    }
  }
};

/// A Python function of the compiled template.
struct Function {
  LookUps *work;
  Function *outer;
  int depth;
  struct Local {
    int level;
    int space;
    const Str *name;
  };
  std::vector<Local> locals;
  int loops = 0;

  std::int32_t slot(int level, int space, const Str *name) {
    work->spend(locals.size());
    for (std::size_t i = 0; i < locals.size(); ++i) {
      if (locals[i].name == name && locals[i].level == level && locals[i].space == space) {
        return static_cast<std::int32_t>(i);
      }
    }
    locals.push_back({level, space, name});
    return static_cast<std::int32_t>(locals.size() - 1);
  }
};

struct Ident {
  Function *function = nullptr;
  std::int32_t slot = -1;
  friend bool operator==(const Ident &, const Ident &) = default;
};

enum class Action : std::uint8_t { parameter, resolve, alias, unset };

struct Reference {
  const Str *name;
  Ident ident;
};

struct ScopeLoad {
  Ident ident;
  Action action;
  Ident from;
  const Str *name;
};

/// jinja2's Symbols.
struct Scope {
  Scope *parent = nullptr;
  Function *function = nullptr;
  int level = 0;
  int space = 0;
  std::vector<Reference> refs;
  std::vector<ScopeLoad> loads;
  std::vector<const Str *> stores;

  const Ident *find_own(const Str *name) const {
    function->work->spend(refs.size() + 1);
    for (const Reference &ref : refs) {
      if (ref.name == name) {
        return &ref.ident;
      }
    }
    return nullptr;
  }
  const Ident *find(const Str *name) const {
    for (const Scope *scope = this; scope != nullptr; scope = scope->parent) {
      if (const Ident *ident = scope->find_own(name); ident != nullptr) {
        return ident;
      }
    }
    return nullptr;
  }
  const ScopeLoad *find_load(const Ident &ident) const {
    for (const Scope *scope = this; scope != nullptr; scope = scope->parent) {
      function->work->spend(scope->loads.size() + 1);
      for (const ScopeLoad &load : scope->loads) {
        if (load.ident == ident) {
          return &load;
        }
      }
    }
    return nullptr;
  }
  void set_load(const Ident &ident, Action action, const Ident &from, const Str *name) {
    function->work->spend(loads.size());
    for (ScopeLoad &load : loads) {
      if (load.ident == ident) {
        load = {ident, action, from, name};
        return;
      }
    }
    loads.push_back({ident, action, from, name});
  }
  Ident define(const Str *name, Action action, const Ident &from = {}) {
    Ident ident{function, function->slot(level, space, name)};
    auto known = std::find_if(refs.begin(), refs.end(),
                              [&](const Reference &ref) { return ref.name == name; });
    if (known == refs.end()) {
      refs.push_back({name, ident});
    } else {
      known->ident = ident;
    }
    set_load(ident, action, from, name);
    return ident;
  }
  bool stored(const Str *name) const {
    function->work->spend(stores.size());
    return std::find(stores.begin(), stores.end(), name) != stores.end();
  }
  void add_store(const Str *name) {
    if (!stored(name)) {
      stores.push_back(name);
    }
  }
  void store(const Str *name) {
    add_store(name);
    if (find_own(name) != nullptr) {
      return;
    }
    const Ident *outer = parent == nullptr ? nullptr : parent->find(name);
    if (outer != nullptr) {
      define(name, Action::alias, *outer);
    } else {
      define(name, Action::unset);
    }
  }
  Ident declare_parameter(const Str *name) {
    add_store(name);
    return define(name, Action::parameter);
  }
  void load(const Str *name) {
    if (find(name) == nullptr) {
      define(name, Action::resolve);
    }
  }
  void merge_branches(std::span<const Scope> branches) {
    std::vector<const Str *> stored_in_some;
    for (const Scope &branch : branches) {
      for (const Str *name : branch.stores) {
        if (!stored(name) &&
            std::find(stored_in_some.begin(), stored_in_some.end(), name) == stored_in_some.end()) {
          stored_in_some.push_back(name);
        }
      }
    }
    for (const Scope &branch : branches) {
      for (const Reference &ref : branch.refs) {
        if (find_own(ref.name) == nullptr) {
          refs.push_back(ref);
        }
      }
      for (const ScopeLoad &entry : branch.loads) {
        set_load(entry.ident, entry.action, entry.from, entry.name);
      }
      for (const Str *name : branch.stores) {
        add_store(name);
      }
    }
    for (const Str *name : stored_in_some) {
      const Ident target = *find(name);
      const Ident *outer = parent == nullptr ? nullptr : parent->find(name);
      if (outer != nullptr) {
        set_load(target, Action::alias, *outer, name);
      } else {
        set_load(target, Action::resolve, {}, name);
      }
    }
  }
};

/// Calls `visit` on each direct child, in the order of jinja2's node fields.
template <class Visit> void children(const Node &node, Visit visit) {
  auto one = [&](Node *child) {
    if (child != nullptr) {
      visit(child);
    }
  };
  auto all = [&](Nodes list) {
    for (Node *child : list) {
      visit(child);
    }
  };
  switch (node.op) {
  case Op::loop:
    one(node.a);
    one(node.b);
    all(node.items);
    all(node.extra);
    one(node.c);
    return;
  case Op::branch:
    one(node.a);
    all(node.items);
    all(node.extra);
    all(node.more);
    return;
  case Op::macro:
  case Op::call_block:
  case Op::with:
    one(node.a);
    all(node.extra);
    all(node.more);
    all(node.items);
    return;
  case Op::filter_block:
    all(node.items);
    one(node.a);
    return;
  case Op::call:
  case Op::filter:
  case Op::test:
    one(node.a);
    all(node.items);
    all(node.extra);
    one(node.b);
    one(node.c);
    return;
  default:
    one(node.a);
    one(node.b);
    one(node.c);
    all(node.items);
    all(node.extra);
    all(node.more);
  }
}

/// Which of `names` are read before anything of that name is stored, anywhere below.
class Undeclared {
public:
  explicit Undeclared(std::initializer_list<std::string_view> names) : names_(names) {}
  void visit(const Node *node) {
    if (node->op == Op::block || names_.empty()) {
      return;
    }
    if (node->op == Op::name) {
      auto known = std::find(names_.begin(), names_.end(), node->name->view());
      if (known == names_.end()) {
        return;
      }
      if (node->context == Context::load) {
        if (!has(*known)) {
          found_.push_back(*known);
        }
      } else {
        names_.erase(known);
      }
      return;
    }
    children(*node, [&](Node *child) { visit(child); });
  }
  void visit(Nodes nodes) {
    for (Node *node : nodes) {
      visit(node);
    }
  }
  bool has(std::string_view name) const {
    return std::find(found_.begin(), found_.end(), name) != found_.end();
  }

private:
  std::vector<std::string_view> names_;
  std::vector<std::string_view> found_;
};

template <class Test> bool any_node(const Node *node, Test test) {
  if (test(node)) {
    return true;
  }
  bool found = false;
  children(*node, [&](Node *child) { found = found || any_node(child, test); });
  return found;
}

} // namespace headwater::jinja::scoping
