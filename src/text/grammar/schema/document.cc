#include <algorithm>

#include "base/utf8.h"
#include "text/grammar/schema/schema.h"

namespace etch::schema {

namespace {

constexpr size_t kMaxBytes = 16 << 20;
constexpr int kMaxDepth = 256;

// Bytes tell how deep it nests before a parser has to find out.
int nesting(std::string_view text) {
  int depth = 0, most = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (in_string) {
      if (text[i] == '\\')
        ++i;
      else if (text[i] == '"')
        in_string = false;
    } else if (text[i] == '"') {
      in_string = true;
    } else if (text[i] == '{' || text[i] == '[') {
      most = std::max(most, ++depth);
    } else if (text[i] == '}' || text[i] == ']') {
      --depth;
    }
  }
  return most;
}

std::string escaped(std::string_view key) {
  std::string out;
  for (const char c : key) {
    if (c == '~')
      out += "~0";
    else if (c == '/')
      out += "~1";
    else
      out += c;
  }
  return out;
}

std::string unescaped(std::string_view key) {
  std::string out;
  for (size_t i = 0; i < key.size(); ++i) {
    const auto hex = [](char c) {
      return c >= '0' && c <= '9'                     ? c - '0'
             : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
                                                      : -1;
    };
    if (key[i] == '~' && i + 1 < key.size() && (key[i + 1] == '0' || key[i + 1] == '1')) {
      out += key[++i] == '0' ? '~' : '/';
    } else if (key[i] == '%' && i + 2 < key.size() && hex(key[i + 1]) >= 0 &&
               hex(key[i + 2]) >= 0) {
      out += static_cast<char>(hex(key[i + 1]) * 16 + hex(key[i + 2]));
      i += 2;
    } else {
      out += key[i];
    }
  }
  return out;
}

}  // namespace

uint8_t type_of(const Json& value) {
  if (value.is_null()) return Type::null;
  if (value.is_boolean()) return Type::boolean;
  if (value.is_number()) return Type::number;
  if (value.is_string()) return Type::string;
  return value.is_array() ? Type::array : Type::object;
}

std::string json_text(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Conjunction joined(Conjunction a, const Conjunction& b) {
  a.insert(a.end(), b.begin(), b.end());
  std::sort(a.begin(), a.end());
  a.erase(std::unique(a.begin(), a.end()), a.end());
  return a;
}

Result<SchemaDocument> SchemaDocument::parse(std::string_view text) {
  if (text.size() > kMaxBytes)
    return fail(ErrorKind::unsupported, "the schema has more than {} bytes", kMaxBytes);
  if (nesting(text) > kMaxDepth)
    return fail(ErrorKind::unsupported, "the schema nests deeper than {} levels", kMaxDepth);
  SchemaDocument d;
  // The library throws here and nowhere else in this folder; what it says is the best message there
  // is.
  try {
    d.owned_.push_back(Json::parse(text));
  } catch (const Json::exception& e) {
    return fail(ErrorKind::damaged, "the schema is no JSON: {}", e.what());
  }
  const Json& root = d.owned_.front();
  d.index_anchors(root, "#", 0);
  d.node_of(root, "#");
  return d;
}

void SchemaDocument::index_anchors(const Json& json, const std::string& pointer, int depth) {
  if (json.is_object()) {
    const auto anchor = json.find("$anchor");
    if (anchor != json.end() && anchor->is_string())
      anchors_.try_emplace(anchor->get<std::string>(), &json, pointer);
    for (const auto& [key, value] : json.items())
      index_anchors(value, pointer + "/" + escaped(key), depth + 1);
  } else if (json.is_array()) {
    for (size_t i = 0; i < json.size(); ++i)
      index_anchors(json[i], fmt::format("{}/{}", pointer, i), depth + 1);
  }
}

NodeId SchemaDocument::node_of(const Json& json, std::string pointer) {
  const auto [place, is_new] = known_.try_emplace(&json, static_cast<NodeId>(nodes_.size()));
  if (is_new) nodes_.push_back({&json, std::move(pointer), false});
  return place->second;
}

NodeId SchemaDocument::child(NodeId node, std::string_view keyword) {
  return node_of(json(node)[std::string(keyword)], fmt::format("{}/{}", pointer(node), keyword));
}
NodeId SchemaDocument::child(NodeId node, std::string_view keyword, std::string_view key) {
  return node_of(json(node)[std::string(keyword)][std::string(key)],
                 fmt::format("{}/{}/{}", pointer(node), keyword, escaped(key)));
}
NodeId SchemaDocument::child(NodeId node, std::string_view keyword, size_t index) {
  return node_of(json(node)[std::string(keyword)][index],
                 fmt::format("{}/{}/{}", pointer(node), keyword, index));
}

NodeId SchemaDocument::made(NodeId node, Json json) {
  owned_.push_back(std::move(json));
  const NodeId id = node_of(owned_.back(), pointer(node));
  nodes_[static_cast<size_t>(id)].is_made = true;
  return id;
}

Result<NodeId> SchemaDocument::referred(NodeId node) {
  const Json& own = json(node)["$ref"];
  const auto refused = [&](ErrorKind kind, std::string_view why) {
    return fail(kind, "{}/$ref: {} {}", pointer(node),
                own.is_string() ? quote(own.get<std::string>()) : json_text(own), why);
  };
  if (!own.is_string()) return refused(ErrorKind::damaged, "is no text");
  std::string_view ref = own.get_ref<const std::string&>();
  const Json& root = owned_.front();
  if (root.is_object() && root.contains("$id") && root["$id"].is_string()) {
    const std::string& id = root["$id"].get_ref<const std::string&>();
    if (!id.empty() && ref.starts_with(id)) ref.remove_prefix(id.size());
  }
  if (ref.empty() || ref == "#") return node_of(root, "#");
  if (!ref.starts_with('#'))
    return refused(ErrorKind::unsupported, "lies outside of the schema, which is not followed");
  ref.remove_prefix(1);
  if (!ref.starts_with('/')) {
    const auto anchor = anchors_.find(unescaped(ref));
    if (anchor == anchors_.end())
      return refused(ErrorKind::damaged, "names no place in the schema");
    return node_of(*anchor->second.first, anchor->second.second);
  }
  const Json* at = &root;
  const std::string whole = "#" + std::string(ref);
  while (!ref.empty()) {
    ref.remove_prefix(1);
    const size_t end = std::min(ref.find('/'), ref.size());
    const std::string key = unescaped(ref.substr(0, end));
    ref.remove_prefix(end);
    const Json* next = nullptr;
    if (at->is_object() && at->contains(key)) next = &(*at)[key];
    if (at->is_array() && !key.empty() && key.size() < 9 &&
        std::all_of(key.begin(), key.end(), [](char c) { return c >= '0' && c <= '9'; })) {
      const size_t index = std::stoul(key);
      if (index < at->size()) next = &(*at)[index];
    }
    if (next == nullptr) return refused(ErrorKind::damaged, "names no place in the schema");
    at = next;
  }
  return node_of(*at, whole);
}

}  // namespace etch::schema
