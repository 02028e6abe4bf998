#include "dwarf_lines.h"

#include <link.h>

#include <algorithm>
#include <map>
#include <vector>

#include "dwarf_reader.h"

namespace simt {
namespace {

// The forms in which DWARF 5 stores the fields of its directory and file lists.
enum : uint64_t {
  kFormBlock2 = 0x03,
  kFormBlock4 = 0x04,
  kFormData2 = 0x05,
  kFormData4 = 0x06,
  kFormData8 = 0x07,
  kFormString = 0x08,
  kFormBlock = 0x09,
  kFormBlock1 = 0x0a,
  kFormData1 = 0x0b,
  kFormStrp = 0x0e,
  kFormUdata = 0x0f,
  kFormData16 = 0x1e,
  kFormLineStrp = 0x1f,
};
enum : uint64_t { kContentPath = 1, kContentDirectory = 2 };

// The instructions of a line number program; what is not named here is skipped.
enum : uint64_t {
  kExtended = 0,  // a longer instruction: its size and one of the two codes below
  kCopy = 1,
  kAdvancePc = 2,
  kAdvanceLine = 3,
  kSetFile = 4,
  kSetColumn = 5,
  kConstAddPc = 8,
  kFixedAdvancePc = 9,
};
enum : uint64_t { kEndSequence = 1, kSetAddress = 2 };

struct Row {
  uint64_t address;
  uint32_t file;  // index into LineTable::files_
  uint32_t line;  // 0: no code of the program here
  uint32_t column;
};

class LineTable {
 public:
  LineTable() {
    load();
    std::stable_sort(rows_.begin(), rows_.end(),
                     [](const Row& a, const Row& b) { return a.address < b.address; });
  }

  SourceLine find(uint64_t address) const {
    auto after = std::upper_bound(rows_.begin(), rows_.end(), address,
                                  [](uint64_t a, const Row& row) { return a < row.address; });
    if (after == rows_.begin()) return {};
    const Row& row = *--after;
    if (row.line == 0) return {};
    return {files_[row.file], row.line, row.column};
  }
  // A file by its number in the unit that begins at this offset of .debug_line.
  std::string file_of_unit(uint64_t offset, uint64_t number) const {
    const auto unit = files_of_.find(offset);
    if (unit == files_of_.end() || number >= unit->second.size()) return "";
    return files_[unit->second[number]];
  }

 private:
  void load() {
    const ProgramFile program;
    lines_ = program.section(".debug_line");
    line_strings_ = program.section(".debug_line_str");
    strings_ = program.section(".debug_str");
    Reader reader(lines_.begin, lines_.end);
    while (!reader.done()) read_unit(reader, lines_.end);
  }

  // A string that lies in a section of its own.
  static std::string string_at(const Section& where, uint64_t offset) {
    if (offset >= static_cast<uint64_t>(where.end - where.begin)) return "";
    return Reader(where.begin + offset, where.end).string();
  }

  // One entry of a DWARF 5 directory or file list.
  struct Entry {
    std::string path;
    uint64_t directory = 0;
  };
  std::vector<Entry> read_entries(Reader& reader, unsigned offset_size) {
    struct Field {
      uint64_t content, form;
    };
    std::vector<Field> fields(reader.fixed(1));
    for (Field& field : fields) field = {reader.uleb(), reader.uleb()};
    std::vector<Entry> entries;
    for (uint64_t count = reader.uleb(); count > 0 && !reader.done(); --count) {
      Entry entry;
      for (const Field& field : fields) {
        std::string text;
        uint64_t number = 0;
        switch (field.form) {
          case kFormString: text = reader.string(); break;
          case kFormLineStrp: text = string_at(line_strings_, reader.fixed(offset_size)); break;
          case kFormStrp: text = string_at(strings_, reader.fixed(offset_size)); break;
          case kFormData1: number = reader.fixed(1); break;
          case kFormData2: number = reader.fixed(2); break;
          case kFormData4: number = reader.fixed(4); break;
          case kFormData8: number = reader.fixed(8); break;
          case kFormData16: reader.skip(16); break;
          case kFormUdata: number = reader.uleb(); break;
          case kFormBlock: reader.skip(reader.uleb()); break;
          case kFormBlock1: reader.skip(reader.fixed(1)); break;
          case kFormBlock2: reader.skip(reader.fixed(2)); break;
          case kFormBlock4: reader.skip(reader.fixed(4)); break;
          default: return entries;
        }
        if (field.content == kContentPath) entry.path = text;
        if (field.content == kContentDirectory) entry.directory = number;
      }
      entries.push_back(entry);
    }
    return entries;
  }

  // The line number program of one compilation unit: a small machine whose instructions append
  // rows.
  void read_unit(Reader& reader, const uint8_t* section_end) {
    const auto offset = static_cast<uint64_t>(reader.at() - lines_.begin);
    uint64_t length = reader.fixed(4);
    unsigned offset_size = 4;
    if (length == 0xffffffff) {
      length = reader.fixed(8);
      offset_size = 8;
    }
    const uint8_t* begin = reader.at();
    const uint8_t* end = begin + std::min<uint64_t>(length, section_end - begin);
    Reader unit(begin, end);
    reader.skip(length);

    const uint64_t version = unit.fixed(2);
    if (version < 2 || version > 5) return;
    if (version == 5) unit.skip(2);  // sizes of addresses and segment selectors
    const uint64_t header_length = unit.fixed(offset_size);
    const uint8_t* program = unit.at() + header_length;
    const uint64_t min_instruction = unit.fixed(1);
    if (version >= 4) unit.skip(1);  // operations per instruction: 1 outside of VLIW processors
    unit.skip(1);                    // default of is_stmt
    const auto line_base = static_cast<int8_t>(unit.fixed(1));
    const uint64_t line_range = std::max<uint64_t>(unit.fixed(1), 1), opcode_base = unit.fixed(1);
    std::vector<uint64_t> operands(opcode_base, 0);
    for (uint64_t i = 1; i < opcode_base; ++i) operands[i] = unit.fixed(1);
    const std::vector<uint32_t>& files = files_of_[offset] = read_files(unit, version, offset_size);

    Reader code(program, end);
    const Row start{0, 0, 1, 0};
    Row row = start;
    uint64_t file = 1;
    const auto append = [&](bool end_of_sequence) {
      row.file = file < files.size() ? files[file] : 0;
      Row copy = row;
      if (end_of_sequence) copy.line = 0;
      // Line 0 inside a sequence means "no line of its own": the line before goes on.
      if (end_of_sequence || copy.line != 0) rows_.push_back(copy);
    };
    while (!code.done()) {
      const uint64_t opcode = code.fixed(1);
      if (opcode >= opcode_base) {
        const uint64_t adjusted = opcode - opcode_base;
        row.address += adjusted / line_range * min_instruction;
        row.line += static_cast<uint32_t>(line_base + static_cast<int64_t>(adjusted % line_range));
        append(false);
        continue;
      }
      switch (opcode) {
        case kExtended: {
          const uint64_t size = code.uleb();
          const uint8_t* next = code.at() + size;
          const uint64_t extended = code.fixed(1);
          if (extended == kEndSequence) {
            append(true);
            row = start;
            file = 1;
          } else if (extended == kSetAddress) {
            row.address = code.fixed(8);
          }
          if (next > code.at()) code.skip(static_cast<uint64_t>(next - code.at()));
          break;
        }
        case kCopy: append(false); break;
        case kAdvancePc: row.address += code.uleb() * min_instruction; break;
        case kAdvanceLine: row.line += static_cast<uint32_t>(code.sleb()); break;
        case kSetFile: file = code.uleb(); break;
        case kSetColumn: row.column = static_cast<uint32_t>(code.uleb()); break;
        case kConstAddPc: row.address += (255 - opcode_base) / line_range * min_instruction; break;
        case kFixedAdvancePc: row.address += code.fixed(2); break;
        default:
          for (uint64_t i = 0; i < operands[opcode]; ++i) code.uleb();
      }
    }
  }

  // The unit's files as indices into files_, in the unit's own numbering.
  std::vector<uint32_t> read_files(Reader& unit, uint64_t version, unsigned offset_size) {
    std::vector<uint32_t> indices;
    const auto add = [&](const std::string& directory, const std::string& name) {
      const bool bare = directory.empty() || (!name.empty() && name[0] == '/');
      std::string path = bare ? name : directory + "/" + name;
      if (path.compare(0, 2, "./") == 0) path.erase(0, 2);  // found through -I.
      indices.push_back(static_cast<uint32_t>(files_.size()));
      files_.push_back(path);
    };
    if (version == 5) {
      const std::vector<Entry> directories = read_entries(unit, offset_size);
      for (const Entry& file : read_entries(unit, offset_size)) {
        // Directory 0 is where the compiler ran: paths are given relative to it.
        const bool known = file.directory > 0 && file.directory < directories.size();
        const std::string directory = known ? directories[file.directory].path : "";
        add(known && directory == directories[0].path ? "" : directory, file.path);
      }
      return indices;
    }
    std::vector<std::string> directories(1);
    for (std::string text = unit.string(); !text.empty(); text = unit.string()) {
      directories.push_back(text);
    }
    add("", "");  // files count from 1
    for (std::string text = unit.string(); !text.empty(); text = unit.string()) {
      const uint64_t directory = unit.uleb();
      unit.uleb();  // time of change
      unit.uleb();  // size
      add(directory < directories.size() ? directories[directory] : "", text);
    }
    return indices;
  }

  Section lines_, line_strings_, strings_;
  std::vector<std::string> files_{""};
  std::map<uint64_t, std::vector<uint32_t>> files_of_;
  std::vector<Row> rows_;
};

const LineTable& line_table() {
  // Never destroyed: it is asked until the very end of the program.
  static const auto* table = new LineTable;
  return *table;
}

}  // namespace

uint64_t program_base() {
  static const uint64_t base = [] {
    uint64_t found = 0;
    dl_iterate_phdr(
        [](dl_phdr_info* object, size_t, void* result) {
          *static_cast<uint64_t*>(result) = object->dlpi_addr;
          return 1;  // the first object is the program itself
        },
        &found);
    return found;
  }();
  return base;
}

std::string file_of_unit(uint64_t offset, uint64_t number) {
  return line_table().file_of_unit(offset, number);
}

SourceLine line_of_return_address(uint32_t pc) { return line_table().find(uint64_t{pc} - 1); }
SourceLine line_of_instruction(uint32_t pc) { return line_table().find(pc); }

std::string to_string(const SourceLine& line) {
  return line.file.empty() ? "unknown line" : line.file + ":" + std::to_string(line.line);
}

}  // namespace simt
