#pragma once

#include "daemon/jinja/runtime.hpp"

#include <memory>
#include <string_view>
#include <vector>

namespace headwater::jinja {

enum class Op : std::uint8_t {
  // expressions
  constant,
  name,
  namespace_ref, ///< target `ns.attr`
  list,
  tuple,
  dict, ///< items: key, value, key, value...
  attribute,
  item,
  slice, ///< a, b, c may be null
  call,
  filter,
  test,
  negate, ///< not
  negative,
  positive,
  add,
  subtract,
  multiply,
  divide,
  floor_divide,
  modulo,
  power,
  logical_and,
  logical_or,
  concat,
  compare, ///< a, then items with an Op-coded comparison in `compares`
  condition,
  keyword,
  // statements
  data,
  print,
  assign,
  assign_block,
  loop,
  branch,
  with,
  macro,
  call_block,
  filter_block,
  autoescape,
  scope,
  block,
  extends,
  include,
  import,
  from_import,
  break_loop,
  continue_loop,
  generation,
};

enum class Comparison : std::uint8_t { eq, ne, lt, lteq, gt, gteq, in, notin };
enum class Context : std::uint8_t { load, store, param };

struct Node;
using Nodes = std::span<Node *>;

/// A local variable: how many functions out it lives, and its slot there.
struct Place {
  std::int32_t hops = 0;
  std::int32_t slot = -1;
};

enum class LoadKind : std::uint8_t { resolve, alias, unset };

/// What a scope does to one of its variables when it is entered.
struct Load {
  LoadKind kind;
  std::int32_t slot;
  Place from;                ///< of an alias
  std::int32_t variable = 0; ///< of a resolve: number among the template's context names
};

struct ScopeCode {
  std::span<const Load> enter;
  std::span<const std::int32_t> leave;
};

/// A macro, a call block's body, a recursive loop, a block or the template itself: one frame of
/// slots.
struct FunctionCode {
  std::int32_t slots = 0;
  ScopeCode scope;
  const Str *name = nullptr; ///< null for a call block
  std::span<const Str *> arguments;
  std::span<const std::int32_t> argument_slots;
  std::span<const bool> checked_defaults;
  std::int32_t caller_slot = -1;
  std::int32_t kwargs_slot = -1;
  std::int32_t varargs_slot = -1;
  std::int32_t self_slot = -1; ///< of the template and of blocks
  bool takes_caller = false;
  bool explicit_caller = false;
};

struct Node {
  Op op;
  int line;
  Value value;               ///< constant; text of data
  const Str *name = nullptr; ///< of a name, attribute, filter, test, block, keyword
  Node *a = nullptr;
  Node *b = nullptr;
  Node *c = nullptr;
  Nodes items;
  Nodes extra;
  Nodes more;
  std::span<const Comparison> compares;
  Context context = Context::load;
  std::int32_t depth = 1; ///< of the expression below
  bool flag = false;      ///< loop: recursive; block: scoped; include: ignore missing
  bool other = false;     ///< loop: uses `loop`; block: required

  // ---- filled in when names are resolved
  Place place;
  bool checked = true; ///< a name that may be unset
  BuiltIn built_in = nullptr;
  std::int32_t variable = -1; ///< of an exported top-level name, for blocks
  std::span<const ScopeCode> scopes;
  const FunctionCode *function = nullptr;
  std::span<const Place> places; ///< namespaces an assignment must find
  std::int32_t loop_slot = -1;
};

struct Block {
  const Str *name;
  const Node *node;
};

/// A parsed template.
struct Program {
  Program(std::size_t bytes, const Limits &of) : arena(bytes), limits(of) {}
  Arena arena;
  Limits limits;
  Nodes body;
  const FunctionCode *root = nullptr;
  std::vector<const Str *> context_names; ///< names looked up among the variables
  std::vector<Block> blocks;
};

/// The variables of a render.
struct VariableSet {
  VariableSet() : arena(std::size_t{1} << 30U) {}
  Arena arena;
  const Dict *values = nullptr;
};

/// Parses to a tree whose names are not resolved yet. Throws CompileError.
void parse_into(Program &program, std::string_view source);
/// Gives each name its place, as jinja2's compiler does, and checks what that compiler checks.
/// Throws CompileError.
void resolve_names(Program &program);

template <class T> std::span<T> keep(Arena &arena, const std::vector<T> &items) {
  T *copy = arena.array<T>(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    copy[i] = items[i];
  }
  return {copy, items.size()};
}

} // namespace headwater::jinja
