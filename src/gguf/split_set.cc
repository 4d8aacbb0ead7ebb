#include "gguf/split_set.h"

#include <filesystem>

#include "base/utf8.h"

namespace etch {
namespace {

constexpr int64_t kMaxParts = 99999;  // five digits in a name

std::string suffix_of_part(int64_t index, int64_t count) {
  return fmt::format("-{:05}-of-{:05}.gguf", index + 1, count);
}

struct Place {
  int64_t index = 0, count = 0;  // count 0: stands alone (or was merged)
};

// What split.no and split.count say. Writers differ in the integer types they use.
template <class FindKey>
Result<Place> place_in_set(FindKey find_key) {
  const KeyValue* count = find_key("split.count");
  if (count == nullptr) return Place{};
  Place place;
  place.count = count->integer().value_or(-1);
  if (place.count < 0 || place.count > kMaxParts) {
    return fail(ErrorKind::damaged, "split.count is {}; it must be a number up to {}",
                count->print(), kMaxParts);
  }
  const KeyValue* index = find_key("split.no");
  if (index == nullptr && place.count > 1)
    return fail(ErrorKind::damaged, "split.count is {} but split.no is missing", place.count);
  if (index == nullptr) return place;
  place.index = index->integer().value_or(-1);
  if (place.index < 0 || (place.count > 0 && place.index >= place.count)) {
    return fail(ErrorKind::damaged, "split.no is {}; it must be a number below split.count, {}",
                index->print(), place.count);
  }
  return place;
}

Result<Place> place_of(const PartContents& part) {
  return place_in_set([&](std::string_view name) { return part.find_key(name); });
}

std::string text_of(const KeyValue* value) {
  return std::string(value != nullptr ? value->text().value_or("") : "");
}

}  // namespace

Result<std::vector<std::string>> paths_of_split_set(const GgufFile& file) {
  const std::string& path = file.parts[0].path;
  const Place place = ETCH_TRY(
      place_in_set([&](std::string_view name) { return file.find_key(name); }).context(path));
  if (place.count <= 1) return std::vector<std::string>{};
  const std::string suffix = suffix_of_part(place.index, place.count);
  if (!path.ends_with(suffix)) {
    return fail(ErrorKind::damaged,
                "{}: this is part {} of {} of a split set, but its name does not end in {}\n"
                "  give all parts their names back, then name any of them",
                path, place.index + 1, place.count, suffix);
  }
  // Names are made from the path the user gave and two checked numbers: they cannot lead elsewhere.
  const std::string prefix = path.substr(0, path.size() - suffix.size());
  std::vector<std::string> paths;
  std::string missing;
  int64_t n_missing = 0;
  for (int64_t i = 0; i < place.count; ++i) {
    paths.push_back(prefix + suffix_of_part(i, place.count));
    std::error_code ignored;
    if (std::filesystem::exists(paths.back(), ignored)) continue;
    if (++n_missing <= 10) missing += "\n  " + paths.back();
  }
  if (n_missing > 10) missing += fmt::format("\n  and {} more", n_missing - 10);
  if (n_missing > 0) {
    return fail(
        ErrorKind::resources,
        "{}: {} of the {} parts of its split set are missing; all must lie in one folder:{}", path,
        n_missing, place.count, missing);
  }
  return paths;
}

Status check_split_set(std::vector<PartContents>& parts) {
  const auto n_parts = static_cast<int64_t>(parts.size());
  const std::string architecture = text_of(parts[0].find_key("general.architecture"));
  int64_t n_tensors = 0;
  for (int64_t i = 0; i < n_parts; ++i) {
    PartContents& part = parts[static_cast<size_t>(i)];
    const Place place = ETCH_TRY(place_of(part).context(part.part.path));
    if (place.index != i || place.count != n_parts) {
      return fail(ErrorKind::damaged,
                  "{}: its keys call it part {} of {}; by its name it is part {} of {}",
                  part.part.path, place.index + 1, place.count, i + 1, n_parts);
    }
    n_tensors += static_cast<int64_t>(part.tensors.size());
    if (i == 0) continue;
    for (const Key& key : part.keys) {
      if (key.name.starts_with("split.") || key.name == "general.alignment") continue;
      if (key.name == "general.architecture") {
        const std::string own = text_of(&key.value);
        if (own == architecture) continue;
        return fail(ErrorKind::damaged, "{}: its architecture is {}, that of the first part {}",
                    part.part.path, quote(own), quote(architecture));
      }
      part.warnings.add("keys of later parts of a split set are not read", quote(key.name));
    }
  }
  const KeyValue* claimed = parts[0].find_key("split.tensors.count");
  if (claimed != nullptr && claimed->integer() != n_tensors) {
    return fail(ErrorKind::damaged,
                "{}: split.tensors.count is {}, but the {} parts hold {} tensors",
                parts[0].part.path, claimed->print(), n_parts, n_tensors);
  }
  return {};
}

}  // namespace etch
