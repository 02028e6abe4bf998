// Who called the function whose line a report names: a wrapper of one PTX instruction is put into
// its callers by the compiler, and its own line tells little. g++ leaves in .debug_info, even with
// -g1, a tree of functions, and in each of them those that it has put there, with their ranges of
// code and the lines of their calls.

#include <unwind.h>

#include <map>
#include <mutex>

#include "dwarf_lines.h"
#include "dwarf_reader.h"

namespace simt {
namespace {

enum : uint64_t { kUnit = 0x11, kInlined = 0x1d, kFunction = 0x2e };  // tags
enum : uint64_t {
  kSibling = 0x01,
  kLines = 0x10,
  kLow = 0x11,
  kHigh = 0x12,
  kRanges = 0x55,
  kCallFile = 0x58,
  kCallLine = 0x59,
};
enum : uint64_t { kAddressForm = 0x01, kImplicitForm = 0x21 };
enum : uint64_t { kEndOfList, kBaseX, kStartXEndX, kStartXLength, kPair, kBase, kStartEnd, kStart };

struct Field {
  uint64_t name, form;
  int64_t value;  // of the implicit form
};
struct Kind {
  uint64_t tag = 0;
  bool has_children = false;
  std::vector<Field> fields;
};
using Kinds = std::map<uint64_t, Kind>;

// What is of interest of an entry.
struct Entry {
  uint64_t tag = 0, sibling = 0, lines = 0, low = 0, high = 0, ranges = 0, file = 0, line = 0;
  bool has_children = false, has_low = false, has_high = false, has_ranges = false;
};

class CallTree {
 public:
  // The calls around the instruction at `address`, the outermost first.
  std::vector<SourceLine> find(uint64_t address) {
    std::vector<SourceLine> found;
    Reader reader(info_.begin, info_.end);
    while (!reader.done() && found.empty()) {
      const uint8_t* begin = reader.at();
      const uint64_t length = reader.fixed(4);
      if (length >= 0xfffffff0) break;  // nobody's program has so much
      const uint8_t* end = reader.at() + std::min<uint64_t>(length, info_.end - reader.at());
      Reader unit(reader.at(), end);
      reader.skip(length);
      if (unit.fixed(2) != 5 || unit.fixed(1) != 1 || unit.fixed(1) != 8) continue;
      look_into(begin, unit, kinds_at(unit.fixed(4)), address, &found);
    }
    return found;
  }

 private:
  const Kinds& kinds_at(uint64_t offset) {
    Kinds& kinds = kinds_[offset];
    if (!kinds.empty() ||
        offset >= static_cast<uint64_t>(kinds_section_.end - kinds_section_.begin))
      return kinds;
    Reader reader(kinds_section_.begin + offset, kinds_section_.end);
    for (uint64_t code = reader.uleb(); code != 0; code = reader.uleb()) {
      Kind& kind = kinds[code];
      kind.tag = reader.uleb();
      kind.has_children = reader.fixed(1) != 0;
      for (;;) {
        Field field{reader.uleb(), reader.uleb(), 0};
        if (field.form == kImplicitForm) field.value = reader.sleb();
        if (field.name == 0 && field.form == 0) break;
        kind.fields.push_back(field);
      }
    }
    return kinds;
  }

  // A number, or 0 for what is none.
  static uint64_t read(Reader& reader, const Field& field) {
    switch (field.form) {
      case kImplicitForm: return static_cast<uint64_t>(field.value);
      case 0x0b:
      case 0x0c:
      case 0x11:
      case 0x25:
      case 0x29: return reader.fixed(1);
      case 0x05:
      case 0x12:
      case 0x26:
      case 0x2a: return reader.fixed(2);
      case 0x27:
      case 0x2b: return reader.fixed(3);
      case 0x06:
      case 0x0e:
      case 0x10:
      case 0x13:
      case 0x17:
      case 0x1c:
      case 0x1d:
      case 0x1f:
      case 0x28:
      case 0x2c: return reader.fixed(4);
      case 0x01:
      case 0x07:
      case 0x14:
      case 0x20:
      case 0x24: return reader.fixed(8);
      case 0x1e: reader.skip(16); return 0;
      case 0x0d: return static_cast<uint64_t>(reader.sleb());
      case 0x0f:
      case 0x15:
      case 0x1a:
      case 0x1b:
      case 0x22:
      case 0x23: return reader.uleb();
      case 0x08: reader.string(); return 0;
      case 0x0a: reader.skip(reader.fixed(1)); return 0;
      case 0x03: reader.skip(reader.fixed(2)); return 0;
      case 0x04: reader.skip(reader.fixed(4)); return 0;
      case 0x09:
      case 0x18: reader.skip(reader.uleb()); return 0;
      default: return 0;  // 0x19: that it is there is all it says
    }
  }

  static Entry read_entry(Reader& reader, const Kind& kind) {
    Entry entry;
    entry.tag = kind.tag;
    entry.has_children = kind.has_children;
    bool high_is_length = false;
    for (const Field& field : kind.fields) {
      const uint64_t value = read(reader, field);
      switch (field.name) {
        case kSibling: entry.sibling = value; break;
        case kLines: entry.lines = value; break;
        case kLow: entry.low = value, entry.has_low = true; break;
        case kHigh:
          entry.high = value, entry.has_high = true;
          high_is_length = field.form != kAddressForm;
          break;
        case kRanges: entry.ranges = value, entry.has_ranges = true; break;
        case kCallFile: entry.file = value; break;
        case kCallLine: entry.line = value; break;
        default: break;
      }
    }
    if (high_is_length) entry.high += entry.low;
    return entry;
  }

  bool in_ranges(uint64_t offset, uint64_t base, uint64_t address) const {
    if (offset >= static_cast<uint64_t>(ranges_.end - ranges_.begin)) return false;
    Reader reader(ranges_.begin + offset, ranges_.end);
    while (!reader.done()) {
      uint64_t begin = 0, end = 0;
      switch (reader.fixed(1)) {
        case kPair: begin = base + reader.uleb(), end = base + reader.uleb(); break;
        case kBase: base = reader.fixed(8); break;
        case kStartEnd: begin = reader.fixed(8), end = reader.fixed(8); break;
        case kStart: begin = reader.fixed(8), end = begin + reader.uleb(); break;
        default: return false;  // the end, or a form of split files
      }
      if (address >= begin && address < end) return true;
    }
    return false;
  }

  void look_into(const uint8_t* begin, Reader unit, const Kinds& kinds, uint64_t address,
                 std::vector<SourceLine>* found) {
    uint64_t lines = 0, base = 0;
    int depth = 0;
    do {
      const uint64_t code = unit.uleb();
      if (code == 0) {
        --depth;
        continue;
      }
      const auto kind = kinds.find(code);
      if (kind == kinds.end()) return;
      const Entry entry = read_entry(unit, kind->second);
      if (entry.tag == kUnit) lines = entry.lines, base = entry.low;
      const bool has_range = (entry.has_low && entry.has_high) || entry.has_ranges;
      const bool holds = entry.has_ranges ? in_ranges(entry.ranges, base, address)
                                          : address >= entry.low && address < entry.high;
      if (entry.tag == kUnit && has_range && !holds) return;
      if (entry.tag == kInlined && holds)
        found->push_back({file_of_unit(lines, entry.file), static_cast<unsigned>(entry.line), 0});
      if (!entry.has_children) continue;
      const bool passed_by = has_range ? !holds : entry.tag == kFunction;
      if (passed_by && entry.sibling != 0) {
        const auto done = static_cast<uint64_t>(unit.at() - begin);
        if (entry.sibling > done) unit.skip(entry.sibling - done);
      } else {
        ++depth;
      }
    } while (depth > 0 && !unit.done());
  }

  const ProgramFile program_;
  const Section info_ = program_.section(".debug_info");
  const Section kinds_section_ = program_.section(".debug_abbrev");
  const Section ranges_ = program_.section(".debug_rnglists");
  std::map<uint64_t, Kinds> kinds_;
};

// Headers and engine may come from two copies of simt: a folder's name and what is in none of them
// tell.
bool is_own(const std::string& file) {
  const size_t dot = file.rfind('.');
  if (dot != std::string::npos && file.compare(dot, 3, ".cu") == 0) return false;
  return file.find("/simt/src/") != std::string::npos ||
         file.find("/simt/include/") != std::string::npos;
}

struct Frames {
  std::vector<uint32_t> pcs;
};

}  // namespace

std::vector<SourceLine> inlined_calls(uint32_t pc) {
  static std::mutex mutex;
  static auto* tree = new CallTree;
  static auto* known = new std::map<uint32_t, std::vector<SourceLine>>;
  std::lock_guard<std::mutex> lock(mutex);
  const auto [place, is_new] = known->try_emplace(pc);
  if (is_new) {
    std::vector<SourceLine> calls = tree->find(uint64_t{pc} - 1);
    for (auto call = calls.rbegin(); call != calls.rend(); ++call)
      if (!call->file.empty() && !is_own(call->file)) place->second.push_back(*call);
  }
  return place->second;
}

std::vector<SourceLine> lines_of_calls() {
  Frames frames;
  _Unwind_Backtrace(
      [](_Unwind_Context* context, void* result) {
        auto& pcs = static_cast<Frames*>(result)->pcs;
        const uint64_t ip = _Unwind_GetIP(context);
        if (ip == 0 || pcs.size() == 64) return _URC_END_OF_STACK;
        pcs.push_back(relative_pc(reinterpret_cast<const void*>(ip), program_base()));
        return _URC_NO_REASON;
      },
      &frames);
  std::vector<SourceLine> lines;
  for (const uint32_t pc : frames.pcs) {
    const SourceLine line = line_of_return_address(pc);
    if (line.file.empty()) continue;
    if (!is_own(line.file)) lines.push_back(line);
    for (const SourceLine& call : inlined_calls(pc)) lines.push_back(call);
  }
  return lines;
}

}  // namespace simt
