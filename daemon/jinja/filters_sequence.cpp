// Filters over sequences: sort, map, select, groupby, batch...

#include "daemon/jinja/merge_sort.hpp"
#include "daemon/jinja/runtime.hpp"
#include "daemon/jinja/text.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace headwater::jinja {

namespace {

/// A path of attribute names as filters take it: "a.b.0", an integer, or nothing.
std::vector<Value> attribute_parts(Runtime &runtime, const Value &attribute) {
  std::vector<Value> parts;
  if (attribute.is_none()) {
    return parts;
  }
  if (!attribute.is_string()) {
    parts.push_back(attribute);
    return parts;
  }
  std::string_view text = attribute.string->view();
  for (;;) {
    std::size_t dot = text.find('.');
    std::string_view part = text.substr(0, dot);
    bool digits = !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos;
    Value number = digits ? parse_integer(runtime, part, 10) : Value();
    parts.push_back(number.is_missing() ? Value(runtime.str(part)) : number);
    if (dot == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(dot + 1);
  }
}

Value ignore_case(Runtime &runtime, const Value &value) {
  return value.is_string() ? Value(runtime.str(to_lower(value.string->view()))) : value;
}

Value follow(Runtime &runtime, Value item, std::span<const Value> parts,
             const Value &otherwise = Value()) {
  for (const Value &part : parts) {
    runtime.spend(1);
    item = runtime.get_item(item, part);
    if (!otherwise.is_missing() && !otherwise.is_none() && item.is_undefined()) {
      item = otherwise;
    }
  }
  return item;
}

Value optional(const Value *value) {
  return value == nullptr ? Value::none() : *value;
}
bool flag(const Value *value) {
  return value != nullptr && truth(*value);
}

/// sorted(): stable, by keys already worked out.
std::vector<std::size_t> sorted_order(Runtime &runtime, const std::vector<Value> &keys,
                                      bool reverse) {
  std::vector<std::size_t> order(keys.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
  }
  auto less = [&](std::size_t a, std::size_t b) {
    runtime.spend(1);
    return runtime.ordered(keys[a], keys[b], "<");
  };
  if (reverse) {
    // Python reverses, sorts and reverses again, so that equal items keep their order.
    std::reverse(order.begin(), order.end());
  }
  merge_sort(order, less);
  if (reverse) {
    std::reverse(order.begin(), order.end());
  }
  return order;
}

Value picked(Runtime &runtime, std::span<const Value> items,
             const std::vector<std::size_t> &order) {
  std::vector<Value> out;
  out.reserve(order.size());
  for (std::size_t i : order) {
    out.push_back(items[i]);
  }
  return runtime.list(out);
}

void produce(Runtime &runtime, Iterator &self, const std::vector<Value> &items) {
  const Sequence *made = make_sequence(runtime.arena, items);
  self.items = made->items;
  self.count = made->count;
}

/// A generator that runs `producer` over these arguments when it is first asked.
Value lazily(Runtime &runtime, std::string_view name, Producer producer,
             const Arguments &arguments) {
  Iterator *iterator = runtime.arena.make<Iterator>();
  iterator->name = name;
  iterator->produce = producer;
  iterator->arguments = make_sequence(runtime.arena, arguments.positional)->items;
  iterator->argument_count = arguments.positional.size();
  Dict *keywords = make_dict(runtime.arena, arguments.keywords.size());
  for (const Keyword &keyword : arguments.keywords) {
    runtime.set(*keywords, Value(keyword.name), keyword.value);
  }
  iterator->keywords = keywords;
  return Value(iterator);
}

/// The arguments a generator was made with.
Arguments kept(Runtime &runtime, const Iterator &self) {
  auto *keywords = runtime.arena.array<Keyword>(self.keywords->count);
  std::size_t i = 0;
  for (const DictEntry &entry : self.keywords->all()) {
    keywords[i++] = {entry.key.string, entry.value};
  }
  return {{self.arguments, self.argument_count}, {keywords, i}};
}

/// iter(value).
Iterator *iterate(Runtime &runtime, const Value &value) {
  if (value.is(Kind::iterator)) {
    return value.iterator;
  }
  std::span<const Value> items = runtime.items(value);
  Iterator *iterator = runtime.arena.make<Iterator>();
  iterator->items = items.data();
  iterator->count = items.size();
  return iterator;
}

/// The one next item of a generator, which will be asked again.
void yield(Runtime &runtime, Iterator &self, Producer producer, const Value &item) {
  self.items = make_sequence(runtime.arena, {&item, 1})->items;
  self.next = 0;
  self.count = 1;
  self.produce = producer;
}

/// A generator over the items of another: what it needs from one item to the next.
struct Pass {
  Iterator *source = nullptr;
  Arguments arguments;
  std::span<const Value> given;
  std::span<const Value> path;
  bool by_attribute = false;
  Value otherwise;
  Dict *seen = nullptr;
};

Pass &begin_pass(Runtime &runtime, Iterator &self) {
  Pass *pass = runtime.arena.make<Pass>();
  self.state = pass;
  pass->arguments = kept(runtime, self);
  return *pass;
}

Value sort(Runtime &runtime, const Arguments &arguments) {
  Bound bound("do_sort", arguments, {"value", "reverse", "case_sensitive", "attribute"}, 1);
  std::vector<std::vector<Value>> paths;
  Value attribute = optional(bound[3]);
  if (attribute.is_string()) {
    std::string_view text = attribute.string->view();
    for (;;) {
      std::size_t comma = text.find(',');
      paths.push_back(attribute_parts(runtime, Value(runtime.str(text.substr(0, comma)))));
      if (comma == std::string_view::npos) {
        break;
      }
      text.remove_prefix(comma + 1);
    }
  } else {
    paths.push_back(attribute_parts(runtime, attribute));
  }
  std::span<const Value> items = runtime.items(*bound[0]);
  std::vector<Value> keys;
  keys.reserve(items.size());
  for (const Value &item : items) {
    std::vector<Value> key;
    for (const std::vector<Value> &path : paths) {
      Value part = follow(runtime, item, path);
      key.push_back(flag(bound[2]) ? part : ignore_case(runtime, part));
    }
    keys.push_back(Value::list(make_sequence(runtime.arena, key)));
  }
  return picked(runtime, items, sorted_order(runtime, keys, flag(bound[1])));
}

Value dictsort(Runtime &runtime, const Arguments &arguments) {
  Bound bound("do_dictsort", arguments, {"value", "case_sensitive", "by", "reverse"}, 1);
  std::size_t position = 0;
  if (bound[2] != nullptr) {
    std::string_view by = bound[2]->is_string() ? bound[2]->string->view() : "";
    if (by != "key" && by != "value") {
      raise(ErrorClass::FilterArgumentError, "You can only sort by either \"key\" or \"value\"");
    }
    position = by == "value" ? 1 : 0;
  }
  const Value &dict = *bound[0];
  if (!dict.is_dict()) {
    const Str *name = runtime.str("items");
    Value items = runtime.get_attribute(dict, *name);
    if (items.is_undefined()) {
      raise(ErrorClass::AttributeError,
            fmt::format("'{}' object has no attribute 'items'", type_name(dict)));
    }
    raise(ErrorClass::TypeError, fmt::format("'{}' object is not iterable", type_name(items)));
  }
  std::vector<Value> pairs;
  std::vector<Value> keys;
  for (const DictEntry &entry : dict.dict->all()) {
    pairs.push_back(runtime.tuple({entry.key, entry.value}));
    const Value &key = position == 0 ? entry.key : entry.value;
    keys.push_back(flag(bound[1]) ? key : ignore_case(runtime, key));
  }
  return picked(runtime, pairs, sorted_order(runtime, keys, flag(bound[3])));
}

Value extreme(Runtime &runtime, const Arguments &arguments, std::string_view name, bool largest) {
  Bound bound(name, arguments, {"value", "case_sensitive", "attribute"}, 1);
  std::span<const Value> items = runtime.items(*bound[0]);
  if (items.empty()) {
    return runtime.undefined_hint("No aggregated item, sequence was empty.");
  }
  std::vector<Value> path = attribute_parts(runtime, optional(bound[2]));
  auto key_of = [&](const Value &item) {
    Value key = follow(runtime, item, path);
    return flag(bound[1]) ? key : ignore_case(runtime, key);
  };
  Value best = items[0];
  Value best_key = key_of(best);
  for (const Value &item : items.subspan(1)) {
    Value key = key_of(item);
    runtime.spend(1);
    if (runtime.ordered(key, best_key, largest ? ">" : "<")) {
      best = item;
      best_key = key;
    }
  }
  return best;
}

Value min(Runtime &runtime, const Arguments &arguments) {
  return extreme(runtime, arguments, "do_min", false);
}
Value max(Runtime &runtime, const Arguments &arguments) {
  return extreme(runtime, arguments, "do_max", true);
}

void produce_unique(Runtime &runtime, Iterator &self) {
  if (self.state == nullptr) {
    Pass &pass = begin_pass(runtime, self);
    Bound bound("sync_do_unique", pass.arguments, {"value", "case_sensitive", "attribute"}, 1);
    pass.path = make_sequence(runtime.arena, attribute_parts(runtime, optional(bound[2])))->all();
    pass.seen = make_dict(runtime.arena, 0);
    pass.otherwise = flag(bound[1]);
    pass.source = iterate(runtime, *bound[0]);
  }
  Pass &pass = *static_cast<Pass *>(self.state);
  for (Value item = runtime.next(*pass.source); !item.is_missing();
       item = runtime.next(*pass.source)) {
    Value key = follow(runtime, item, pass.path);
    key = pass.otherwise.boolean ? key : ignore_case(runtime, key);
    if (find(*pass.seen, key, runtime.work) == nullptr) {
      runtime.set(*pass.seen, key, true);
      yield(runtime, self, produce_unique, item);
      return;
    }
  }
}

Value unique(Runtime &runtime, const Arguments &arguments) {
  Bound bound("sync_do_unique", arguments, {"value", "case_sensitive", "attribute"}, 1);
  return lazily(runtime, "sync_do_unique", produce_unique, arguments);
}

Value groupby(Runtime &runtime, const Arguments &arguments) {
  Bound bound("sync_do_groupby", arguments, {"value", "attribute", "default", "case_sensitive"}, 2);
  std::vector<Value> path = attribute_parts(runtime, *bound[1]);
  Value otherwise = optional(bound[2]);
  std::span<const Value> items = runtime.items(*bound[0]);
  std::vector<Value> keys;
  for (const Value &item : items) {
    Value key = follow(runtime, item, path, otherwise);
    keys.push_back(flag(bound[3]) ? key : ignore_case(runtime, key));
  }
  std::vector<std::size_t> order = sorted_order(runtime, keys, false);
  std::vector<Value> groups;
  for (std::size_t i = 0; i < order.size();) {
    std::vector<Value> members;
    std::size_t first = order[i];
    while (i < order.size() && runtime.is_equal(keys[order[i]], keys[first])) {
      members.push_back(items[order[i++]]);
    }
    if (members.empty()) {
      members.push_back(items[order[i++]]); // a key not equal to itself
    }
    Value key = flag(bound[3]) ? keys[first] : follow(runtime, members[0], path, otherwise);
    Value pair[2] = {key, runtime.list(members)};
    auto *copy = runtime.arena.array<Value>(2);
    copy[0] = pair[0];
    copy[1] = pair[1];
    groups.push_back(Value::tuple(runtime.arena.make<Sequence>(copy, std::size_t{2}, true)));
  }
  return runtime.list(groups);
}

void begin_map(Runtime &runtime, Iterator &self) {
  Pass &pass = begin_pass(runtime, self);
  const Value &source = pass.arguments.positional[0];
  if (!truth(source)) {
    pass.source = iterate(runtime, runtime.list({}));
    return;
  }
  pass.given = pass.arguments.positional.subspan(1);
  const Value *attribute = nullptr;
  pass.otherwise = Value::none();
  for (const Keyword &keyword : pass.arguments.keywords) {
    if (keyword.name->view() == "attribute") {
      attribute = &keyword.value;
    } else if (keyword.name->view() == "default") {
      pass.otherwise = keyword.value;
    }
  }
  if (pass.given.empty() && attribute != nullptr) {
    for (const Keyword &keyword : pass.arguments.keywords) {
      if (keyword.name->view() != "attribute" && keyword.name->view() != "default") {
        raise(ErrorClass::FilterArgumentError,
              fmt::format("Unexpected keyword argument {}", runtime.repr(Value(keyword.name))));
      }
    }
    pass.by_attribute = true;
    pass.path = make_sequence(runtime.arena, attribute_parts(runtime, *attribute))->all();
  } else if (pass.given.empty()) {
    raise(ErrorClass::FilterArgumentError, "map requires a filter argument");
  }
  pass.source = iterate(runtime, source);
}

void produce_map(Runtime &runtime, Iterator &self) {
  if (self.state == nullptr) {
    begin_map(runtime, self);
  }
  Pass &pass = *static_cast<Pass *>(self.state);
  Value item = runtime.next(*pass.source);
  if (item.is_missing()) {
    return;
  }
  if (pass.by_attribute) {
    item = follow(runtime, item, pass.path, pass.otherwise);
  } else {
    std::vector<Value> call{item};
    call.insert(call.end(), pass.given.begin() + 1, pass.given.end());
    item = runtime.call_filter(pass.given[0], call, pass.arguments.keywords);
  }
  yield(runtime, self, produce_map, item);
}

Value map(Runtime &runtime, const Arguments &arguments) {
  return lazily(runtime, "sync_do_map", produce_map, arguments);
}

void begin_selection(Runtime &runtime, Iterator &self, bool by_attribute) {
  Pass &pass = begin_pass(runtime, self);
  const Value &source = pass.arguments.positional[0];
  if (!truth(source)) {
    pass.source = iterate(runtime, runtime.list({}));
    return;
  }
  pass.given = pass.arguments.positional.subspan(1);
  if (by_attribute) {
    if (pass.given.empty()) {
      raise(ErrorClass::FilterArgumentError, "Missing parameter for attribute name");
    }
    pass.path = make_sequence(runtime.arena, attribute_parts(runtime, pass.given[0]))->all();
    pass.given = pass.given.subspan(1);
  }
  pass.source = iterate(runtime, source);
}

template <bool wanted, bool by_attribute> void produce_selection(Runtime &runtime, Iterator &self) {
  if (self.state == nullptr) {
    begin_selection(runtime, self, by_attribute);
  }
  Pass &pass = *static_cast<Pass *>(self.state);
  for (Value item = runtime.next(*pass.source); !item.is_missing();
       item = runtime.next(*pass.source)) {
    Value subject = follow(runtime, item, pass.path);
    if (!pass.given.empty()) {
      std::vector<Value> call{subject};
      call.insert(call.end(), pass.given.begin() + 1, pass.given.end());
      subject = runtime.call_test(pass.given[0], call, pass.arguments.keywords);
    }
    if (truth(subject) == wanted) {
      yield(runtime, self, produce_selection<wanted, by_attribute>, item);
      return;
    }
  }
}

template <bool wanted, bool by_attribute>
Value selection(Runtime &runtime, const Arguments &arguments) {
  return lazily(runtime, "select_or_reject", produce_selection<wanted, by_attribute>, arguments);
}

void produce_items(Runtime &runtime, Iterator &self) {
  const Value &source = self.arguments[0];
  std::vector<Value> out;
  if (!source.is_undefined()) {
    if (!source.is_dict()) {
      raise(ErrorClass::TypeError, "Can only get item pairs from a mapping.");
    }
    for (const DictEntry &entry : source.dict->all()) {
      out.push_back(runtime.tuple({entry.key, entry.value}));
    }
  }
  produce(runtime, self, out);
}

Value items(Runtime &runtime, const Arguments &arguments) {
  Bound bound("do_items", arguments, {"value"}, 1);
  return lazily(runtime, "do_items", produce_items, {{bound[0], 1}, {}});
}

void produce_slice(Runtime &runtime, Iterator &self) {
  Bound bound("sync_do_slice", kept(runtime, self), {"value", "slices", "fill_with"}, 2);
  std::span<const Value> all = runtime.items(*bound[0]);
  std::int64_t slices =
      runtime.index(*bound[1], fmt::format("unsupported operand type(s) for //: 'int' and '{}'",
                                           type_name(*bound[1])));
  if (slices == 0) {
    raise(ErrorClass::ZeroDivisionError, "integer division or modulo by zero");
  }
  std::vector<Value> out;
  if (slices > 0) {
    runtime.arena.check(static_cast<std::size_t>(slices) * 32U);
    std::size_t count = static_cast<std::size_t>(slices);
    std::size_t each = all.size() / count;
    std::size_t extra = all.size() % count;
    std::size_t start = 0;
    for (std::size_t i = 0; i < count; ++i) {
      runtime.spend(1);
      std::size_t size = each + (i < extra ? 1 : 0);
      std::vector<Value> part(all.begin() + static_cast<std::ptrdiff_t>(start),
                              all.begin() + static_cast<std::ptrdiff_t>(start + size));
      if (bound[2] != nullptr && !bound[2]->is_none() && i >= extra) {
        part.push_back(*bound[2]);
      }
      out.push_back(runtime.list(part));
      start += size;
    }
  }
  produce(runtime, self, out);
}

Value slice(Runtime &runtime, const Arguments &arguments) {
  Bound bound("sync_do_slice", arguments, {"value", "slices", "fill_with"}, 2);
  return lazily(runtime, "sync_do_slice", produce_slice, arguments);
}

void produce_batch(Runtime &runtime, Iterator &self) {
  Bound bound("do_batch", kept(runtime, self), {"value", "linecount", "fill_with"}, 2);
  std::vector<Value> out;
  std::vector<Value> part;
  auto full = [&] {
    return bound[1]->is_small_int() &&
           static_cast<std::int64_t>(part.size()) == bound[1]->small_int();
  };
  for (const Value &item : runtime.items(*bound[0])) {
    if (full()) {
      out.push_back(runtime.list(part));
      part.clear();
    }
    part.push_back(item);
  }
  if (!part.empty()) {
    if (bound[2] != nullptr && !bound[2]->is_none()) {
      std::int64_t width = runtime.index(
          *bound[1], fmt::format("'<' not supported between instances of 'int' and '{}'",
                                 type_name(*bound[1])));
      if (width > static_cast<std::int64_t>(part.size())) {
        runtime.arena.check(static_cast<std::size_t>(width) * sizeof(Value));
        runtime.spend(width / 4);
        part.resize(static_cast<std::size_t>(width), *bound[2]);
      }
    }
    out.push_back(runtime.list(part));
  }
  produce(runtime, self, out);
}

Value batch(Runtime &runtime, const Arguments &arguments) {
  Bound bound("do_batch", arguments, {"value", "linecount", "fill_with"}, 2);
  return lazily(runtime, "do_batch", produce_batch, arguments);
}

Value length(Runtime &runtime, const Arguments &arguments) {
  if (arguments.positional.size() != 1 || !arguments.keywords.empty()) {
    raise(ErrorClass::TypeError, arguments.keywords.empty()
                                     ? fmt::format("len() takes exactly one argument ({} given)",
                                                   arguments.positional.size())
                                     : std::string("len() takes no keyword arguments"));
  }
  return runtime.length(arguments.positional[0]);
}

Value first(Runtime &runtime, const Arguments &arguments) {
  Bound bound("sync_do_first", arguments, {"seq"}, 1);
  if (bound[0]->is(Kind::iterator)) {
    Value value = runtime.next(*bound[0]->iterator);
    return value.is_missing() ? runtime.undefined_hint("No first item, sequence was empty.")
                              : value;
  }
  if (bound[0]->is_string() && bound[0]->string->bytes != 0) {
    return runtime.get_item(*bound[0], Value(std::int64_t{0}));
  }
  std::span<const Value> items = runtime.items(*bound[0]);
  return items.empty() ? runtime.undefined_hint("No first item, sequence was empty.") : items[0];
}

bool reversible(const Value &value) {
  return value.is_string() || value.is_sequence() || value.is_dict() || value.is(Kind::range) ||
         value.is(Kind::dict_view) || value.is_undefined();
}

Value last(Runtime &runtime, const Arguments &arguments) {
  Bound bound("do_last", arguments, {"seq"}, 1);
  if (!reversible(*bound[0])) {
    raise(ErrorClass::TypeError,
          fmt::format("'{}' object is not reversible", type_name(*bound[0])));
  }
  if (bound[0]->is_undefined()) {
    return runtime.undefined_hint("No last item, sequence was empty.");
  }
  if (bound[0]->is_string() && bound[0]->string->bytes != 0) {
    return runtime.get_item(*bound[0], Value(std::int64_t{-1}));
  }
  std::span<const Value> items = runtime.items(*bound[0]);
  return items.empty() ? runtime.undefined_hint("No last item, sequence was empty.") : items.back();
}

Value random(Runtime &runtime, const Arguments &arguments) {
  Bound bound("do_random", arguments, {"seq"}, 1);
  if (runtime.length(*bound[0]) == 0) {
    return runtime.undefined_hint("No random item, sequence was empty.");
  }
  // No rendering may depend on chance: the first item stands for a random one.
  return runtime.get_item(*bound[0], Value(std::int64_t{0}));
}

Value list(Runtime &runtime, const Arguments &arguments) {
  Bound bound("sync_do_list", arguments, {"value"}, 1);
  std::span<const Value> items = runtime.items(*bound[0]);
  if (bound[0]->is(Kind::list)) {
    return Value::list(runtime.arena.make<Sequence>(items.data(), items.size()));
  }
  return runtime.list(items);
}

Value reverse(Runtime &runtime, const Arguments &arguments) {
  Bound bound("do_reverse", arguments, {"value"}, 1);
  const Value &value = *bound[0];
  if (!reversible(value) && !runtime.iterable(value)) {
    raise(ErrorClass::FilterArgumentError, "argument must be iterable");
  }
  std::span<const Value> items = runtime.items(value);
  std::vector<Value> backwards(items.rbegin(), items.rend());
  if (value.is_string()) {
    std::string out;
    for (const Value &item : backwards) {
      out += item.string->view();
    }
    return runtime.str(out, value.string->markup);
  }
  if (!reversible(value) || value.is_undefined()) {
    return runtime.list(backwards);
  }
  Iterator *iterator = runtime.arena.make<Iterator>();
  iterator->type = value.is(Kind::list)    ? "list_reverseiterator"
                   : value.is(Kind::range) ? "range_iterator"
                   : value.is_dict()       ? "dict_reversekeyiterator"
                   : value.is(Kind::tuple) ? "reversed"
                                           : "dict_reverseitemiterator";
  produce(runtime, *iterator, backwards);
  return Value(iterator);
}

Value join(Runtime &runtime, const Arguments &arguments) {
  Bound bound("sync_do_join", arguments, {"value", "d", "attribute"}, 1);
  std::vector<Value> path;
  if (bound[2] != nullptr && !bound[2]->is_none()) {
    path = attribute_parts(runtime, *bound[2]);
  }
  std::vector<Value> parts;
  bool markup = false;
  for (const Value &item : runtime.items(*bound[0])) {
    parts.push_back(follow(runtime, item, path));
    markup = markup || (parts.back().is_string() && parts.back().string->markup);
  }
  Value separator = bound[1] == nullptr ? Value(runtime.str("")) : *bound[1];
  markup = runtime.autoescape && (markup || (separator.is_string() && separator.string->markup));
  std::string out;
  std::string_view between =
      markup ? runtime.escape(separator)->view() : runtime.to_str(separator)->view();
  bool some = false;
  for (const Value &part : parts) {
    if (some) {
      out += between;
    }
    some = true;
    if (markup) {
      out += runtime.escape(part)->view();
    } else {
      runtime.append_str(out, part);
    }
    runtime.spend_bytes(between.size() * 2);
    if (out.size() > runtime.bounds.allocation_bytes) {
      throw OutOfMemory{};
    }
  }
  return runtime.str(out, markup);
}

Value sum(Runtime &runtime, const Arguments &arguments) {
  Bound bound("sync_do_sum", arguments, {"iterable", "attribute", "start"}, 1);
  std::vector<Value> path = attribute_parts(runtime, optional(bound[1]));
  Value total = bound[2] == nullptr ? Value(std::int64_t{0}) : *bound[2];
  if (total.is_string()) {
    raise(ErrorClass::TypeError, "sum() can't sum strings [use ''.join(seq) instead]");
  }
  for (const Value &item : runtime.items(*bound[0])) {
    runtime.spend(1);
    total = runtime.add(total, follow(runtime, item, path));
  }
  return total;
}

constexpr std::array<NamedBuiltIn, 23> filters{{{"length", length},
                                                {"count", length},
                                                {"first", first},
                                                {"last", last},
                                                {"list", list},
                                                {"join", join},
                                                {"map", map},
                                                {"select", selection<true, false>},
                                                {"reject", selection<false, false>},
                                                {"selectattr", selection<true, true>},
                                                {"rejectattr", selection<false, true>},
                                                {"items", items},
                                                {"sort", sort},
                                                {"dictsort", dictsort},
                                                {"reverse", reverse},
                                                {"unique", unique},
                                                {"min", min},
                                                {"max", max},
                                                {"sum", sum},
                                                {"groupby", groupby},
                                                {"slice", slice},
                                                {"batch", batch},
                                                {"random", random}}};

} // namespace

std::span<const NamedBuiltIn> sequence_filters() {
  return filters;
}

} // namespace headwater::jinja
