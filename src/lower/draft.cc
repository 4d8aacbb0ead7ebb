#include "lower/draft.h"

#include <cstring>
#include <set>

#include "base/check.h"

namespace etch {

bool RowsView::operator==(const RowsView& o) const {
  return at.space == o.at.space && at.offset == o.at.offset && at.buffer == o.at.buffer &&
         row_stride == o.row_stride && inner_stride == o.inner_stride && rows.of == o.rows.of &&
         rows.per == o.rows.per && d == o.d;
}

namespace {

size_t field_index(ArgsKind kind, std::string_view field) {
  const std::span<const ArgField> fields = info(kind).fields;
  for (size_t i = 0; i < fields.size(); ++i)
    if (fields[i].name == field) return i;
  ETCH_CHECK(false, "{} has no field '{}'", info(kind).name, field);
}

bool has_field(ArgsKind kind, std::string_view field) {
  for (const ArgField& f : info(kind).fields)
    if (f.name == field) return true;
  return false;
}

Arg empty_arg(ArgField::Type type) {
  switch (type) {
    case ArgField::Type::pointer:
      return Place{};
    case ArgField::Type::i64:
      return int64_t{0};
    case ArgField::Type::i32:
    case ArgField::Type::rows_of:
      return int32_t{0};
    case ArgField::Type::f32:
      return 0.0f;
    case ArgField::Type::call:
      return CallRef{};
  }
  return Place{};
}

}  // namespace

const Arg& DraftCall::get(std::string_view field) const { return args[field_index(kind, field)]; }

void DraftCall::set(std::string_view field, Arg arg) {
  Arg& old = args[field_index(kind, field)];
  ETCH_CHECK(old.index() == arg.index(), "{}.{} is of another type", info(kind).name, field);
  old = arg;
}

void DraftCall::set_view(std::string_view field, const RowsView& view) {
  const std::string f(field);
  set(f + ".at", view.at);
  set(f + ".row_stride", view.row_stride);
  set(f + ".inner_stride", view.inner_stride);
}

void DraftCall::set_rows(etch_rows rows) {
  set("rows.of", rows.of);
  set("rows.per", rows.per);
}

etch_rows DraftCall::rows() const {
  if (has_field(kind, "rows.of")) return {i32("rows.of"), i32("rows.per")};
  if (has_field(kind, "rows_of")) return {i32("rows_of"), 1};
  if (kind == ArgsKind::gather) return {ETCH_OUTPUTS, 1};
  return {ETCH_TOKENS, 1};  // append, attend
}

RowsView DraftCall::view(std::string_view field, int64_t d) const {
  const std::string f(field);
  return {place(f + ".at"), i64(f + ".row_stride"), i64(f + ".inner_stride"), rows(), d};
}

DraftCall make_call(ArgsKind kind, std::string op) {
  DraftCall call;
  call.kind = kind;
  call.op = std::move(op);
  for (const ArgField& f : info(kind).fields) call.args.push_back(empty_arg(f.type));
  if (has_field(kind, "rows.per")) call.set("rows.per", int32_t{1});
  return call;
}

std::vector<uint8_t> encode_sizes(const DraftCall& call) {
  const ArgsInfo& args = info(call.kind);
  std::vector<uint8_t> bytes(static_cast<size_t>(args.bytes));
  static uint8_t somewhere[64];
  for (size_t i = 0; i < args.fields.size(); ++i) {
    uint8_t* at = bytes.data() + args.fields[i].offset;
    const Arg& arg = call.args[i];
    if (const Place* p = std::get_if<Place>(&arg)) {
      const uint8_t* pointer = p->space == Space::none ? nullptr : somewhere;
      std::memcpy(at, &pointer, sizeof pointer);
    } else if (const auto* l = std::get_if<int64_t>(&arg)) {
      std::memcpy(at, l, sizeof *l);
    } else if (const auto* n = std::get_if<int32_t>(&arg)) {
      std::memcpy(at, n, sizeof *n);
    } else if (const auto* f = std::get_if<float>(&arg)) {
      std::memcpy(at, f, sizeof *f);
    }
  }
  return bytes;
}

int32_t Draft::add_slot(Slot slot) {
  if (slot.bytes == 0) slot.bytes = slot.size.at(max_rows, max_outputs);
  slots.push_back(std::move(slot));
  return static_cast<int32_t>(slots.size()) - 1;
}

int32_t rows_of(Rows rows) {
  return rows == Rows::tokens ? ETCH_TOKENS : rows == Rows::outputs ? ETCH_OUTPUTS : ETCH_ONCE;
}

Status verify_draft(const Draft& draft, std::string_view after) {
  std::set<int32_t> written;
  for (size_t s = 0; s < draft.slots.size(); ++s)
    if (draft.slots[s].space == Space::input) written.insert(static_cast<int32_t>(s));
  for (size_t i = 0; i < draft.calls.size(); ++i) {
    DraftCall call = draft.calls[i];
    if (call.dead) continue;
    find_accesses(draft, call);
    for (const Access& a : call.reads)
      if (a.state < 0 && !written.contains(a.place.buffer))
        return fail(ErrorKind::internal, "after {}: call {} ({}) reads '{}' before it is written",
                    after, i, call.origin.what, draft.slot(a.place.buffer).name);
    for (const Access& a : call.writes) {
      if (a.state >= 0) continue;
      if (a.bytes > draft.slot(a.place.buffer).bytes - a.place.offset)
        return fail(ErrorKind::internal, "after {}: call {} ({}) writes past the end of '{}'",
                    after, i, call.origin.what, draft.slot(a.place.buffer).name);
      written.insert(a.place.buffer);
    }
  }
  return {};
}

}  // namespace etch
