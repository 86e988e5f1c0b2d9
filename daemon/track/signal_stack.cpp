#include "daemon/track/signal_stack.hpp"

#include <array>
#include <csignal>

namespace headwater::track {
namespace {

/// Taken off the thread before its memory goes.
class SignalStack {
public:
  SignalStack() {
    stack_t stack{};
    stack.ss_sp = bytes_.data();
    stack.ss_size = bytes_.size();
    ::sigaltstack(&stack, nullptr);
  }
  ~SignalStack() {
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    ::sigaltstack(&none, nullptr);
  }
  SignalStack(const SignalStack &) = delete;
  SignalStack &operator=(const SignalStack &) = delete;

private:
  std::array<char, 32U << 10U> bytes_{};
};

} // namespace

void use_signal_stack() {
  // A sanitizer brings one of its own.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  thread_local const SignalStack stack;
  static_cast<void>(stack);
#endif
}

} // namespace headwater::track
