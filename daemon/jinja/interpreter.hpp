#pragma once

#include "daemon/jinja/ast.hpp"

#include <string>
#include <vector>

namespace headwater::jinja {

/// Local variables of one running function, and of the one it was defined in.
struct Activation {
  Activation *outer;
  Value *slots;
};

struct Macro {
  const FunctionCode *code;
  const Node *node;
  Activation *closure;
  bool autoescape;
};

struct BlockReference {
  const Node *node; ///< null: the template itself, whose attributes are its blocks
};

/// What a for loop takes its items from, one at a time: filters with `if` run late, between bodies.
struct Feed {
  std::span<const Value> items;
  std::size_t next = 0;
  Iterator *iterator = nullptr;
  const Node *test = nullptr; ///< loop node whose condition filters
  Activation *frame = nullptr;
  bool entered = false;
};

/// The special variable `loop`.
struct Loop {
  Feed *feed;
  Value iterable;
  std::int64_t index0 = -1;
  std::int64_t length = -1;
  Value after;
  Value current;
  Value before;
  Value last_changed;
  std::int64_t depth0 = 0;
  const Node *recursive = nullptr;
  Activation *closure = nullptr;
};

/// Counts how deep our own calls are: a template must not use up the stack.
struct NativeDepth {
  static constexpr int most = 3000;
  explicit NativeDepth(int &of) : depth(of) {
    if (++depth > most) {
      raise(ErrorClass::RecursionError, "maximum recursion depth exceeded");
    }
  }
  NativeDepth(const NativeDepth &) = delete;
  NativeDepth &operator=(const NativeDepth &) = delete;
  ~NativeDepth() { --depth; }
  int &depth;
};

/// Runs a resolved template.
class Interpreter final : public Callbacks {
public:
  Interpreter(const Program &program, const VariableSet &variables, const Limits &limits,
              Clock now);

  void run();
  [[nodiscard]] Rendered take();
  [[nodiscard]] int line() const { return line_; }

  Value call_macro(Macro &macro, const Arguments &arguments) override;
  Value call_loop(Loop &loop, const Arguments &arguments) override;
  Value call_block(const BlockReference &block) override;
  Value loop_attribute(Loop &loop, std::string_view name) override;
  Value macro_attribute(const Macro &macro, std::string_view name) override;
  std::string macro_repr(const Macro &macro) override;
  const Iterator &loop_rest(Loop &loop) override;
  std::string block_repr(const BlockReference &block) override;
  Value block_attribute(const BlockReference &block, std::string_view name) override;

private:
  enum class Flow : std::uint8_t { normal, next, stop };

  Flow execute(Nodes nodes);
  Flow execute(const Node &node);
  Flow branch(const Node &node);
  Flow autoescape(const Node &node);
  void assign(const Node &node);
  void assign_block(const Node &node);
  void for_loop(const Node &node, const Value &iterable);
  void recursive_loop(const Node &node, const Value &iterable, std::int64_t depth,
                      Activation *closure);
  void loop_body(const Node &node, const Value &iterable, std::int64_t depth, Activation *closure);
  void call_block_statement(const Node &node);
  void generation(const Node &node);
  void block(const Node &node);
  /// `self`, where the code of this frame names it.
  void provide_self(std::int32_t slot);
  void enter(const ScopeCode &scope);
  void leave(const ScopeCode &scope);
  void write(const Value &value);
  void check_output() const;

  Value evaluate(const Node &node);
  Value compare(const Node &node);
  bool compare_one(Comparison op, const Value &a, const Value &b);
  Value item(const Node &node);
  Value call(const Node &node, const Value *caller);
  Value built_in(const Node &node, const Value *subject);
  Arguments arguments(const Node &node, const Value *first, const Value *caller);
  void bind(const Node &target, const Value &value);
  void unpack(const Node &target, const Value &value);

  Value &at(const Place &place) {
    Activation *frame = frame_;
    for (std::int32_t i = 0; i < place.hops; ++i) {
      frame = frame->outer;
    }
    return frame->slots[place.slot];
  }
  Activation *activate(const FunctionCode &code, Activation *outer);
  Feed make_feed(const Value &iterable, const Node &node);
  Value feed_next(Feed &feed);
  std::int64_t loop_length(Loop &loop);
  Value loop_peek(Loop &loop);
  Macro *make_macro(const Node &node);
  /// Output since `begin` as a string, taken back.
  const Str *captured(std::size_t begin);
  std::size_t begin_capture();

  const Program &program_;
  Runtime runtime_;
  std::string out_;
  std::vector<Span> generation_;
  std::vector<Value> context_;
  Activation *frame_ = nullptr;
  int line_ = 0;
  int native_depth_ = 0;
  int captures_ = 0;
  std::size_t root_length_ = 0; ///< output outside all captures, while one is open
};

} // namespace headwater::jinja
