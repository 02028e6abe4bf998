// The program's own file, and its DWARF sections one value after another.
#pragma once

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

namespace simt {

struct Section {
  const uint8_t* begin = nullptr;
  const uint8_t* end = nullptr;
};

// Reads one value after another and never past the end: past it, everything is 0.
class Reader {
 public:
  Reader(const uint8_t* at, const uint8_t* end) : at_(at), end_(end) {}
  bool done() const { return at_ >= end_; }
  const uint8_t* at() const { return at_; }
  void skip(uint64_t bytes) { at_ += std::min<uint64_t>(bytes, end_ - at_); }
  uint64_t fixed(unsigned bytes) {
    uint64_t value = 0;
    if (end_ - at_ >= bytes) std::memcpy(&value, at_, bytes);  // little endian, as both processors
    skip(bytes);
    return value;
  }
  uint64_t uleb() {
    uint64_t value = 0;
    for (unsigned shift = 0; !done(); shift += 7) {
      const uint8_t byte = *at_++;
      if (shift < 64) value |= uint64_t{byte & 0x7fu} << shift;
      if ((byte & 0x80) == 0) break;
    }
    return value;
  }
  int64_t sleb() {
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte = 0;
    do {
      if (done()) return 0;
      byte = *at_++;
      if (shift < 64) value |= uint64_t{byte & 0x7fu} << shift;
      shift += 7;
    } while ((byte & 0x80) != 0);
    if (shift < 64 && (byte & 0x40) != 0) value |= ~uint64_t{0} << shift;
    return static_cast<int64_t>(value);
  }
  std::string string() {
    const uint8_t* zero = std::find(at_, end_, 0);
    std::string text(reinterpret_cast<const char*>(at_), zero - at_);
    skip(text.size() + 1);
    return text;
  }

 private:
  const uint8_t *at_, *end_;
};

// Mapped as long as this lives.
class ProgramFile {
 public:
  ProgramFile() {
    const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    struct stat info;
    if (fstat(file, &info) == 0) {
      bytes_ = static_cast<size_t>(info.st_size);
      void* image = mmap(nullptr, bytes_, PROT_READ, MAP_PRIVATE, file, 0);
      if (image != MAP_FAILED) image_ = static_cast<const uint8_t*>(image);
    }
    close(file);
  }
  ~ProgramFile() {
    if (image_ != nullptr) munmap(const_cast<uint8_t*>(image_), bytes_);
  }
  ProgramFile(const ProgramFile&) = delete;

  Section section(const char* name) const {
    if (image_ == nullptr) return {};
    const uint8_t* image = image_;
    const auto* header = reinterpret_cast<const ElfW(Ehdr)*>(image);
    const auto* sections = reinterpret_cast<const ElfW(Shdr)*>(image + header->e_shoff);
    const auto* names =
        reinterpret_cast<const char*>(image + sections[header->e_shstrndx].sh_offset);
    for (unsigned i = 0; i < header->e_shnum; ++i) {
      const auto& candidate = sections[i];
      if (std::strcmp(names + candidate.sh_name, name) != 0) continue;
      if ((candidate.sh_flags & SHF_COMPRESSED) != 0) break;
      return {image + candidate.sh_offset, image + candidate.sh_offset + candidate.sh_size};
    }
    return {};
  }

 private:
  const uint8_t* image_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace simt
