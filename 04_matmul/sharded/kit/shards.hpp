// How a matrix is divided among devices.
#pragma once

#include <algorithm>
#include <cstdint>

namespace matmul::sharded {

// `whole` rows or columns in `parts` shards, one after the other, that differ by one unit at most.
// The last unit may be short, and a shard may be empty.
struct Shards {
  std::int64_t whole;
  int parts, unit;

  std::int64_t first(int i) const {
    const std::int64_t units = (whole + unit - 1) / unit;
    return std::min(whole, units * i / parts * unit);
  }
  std::int64_t size(int i) const { return first(i + 1) - first(i); }
};

// Rows go one by one. Of what lies along the rows of a matrix TMA wants multiples of 8 elements.
inline Shards shards_of_rows(std::int64_t whole, int parts) { return {whole, parts, 1}; }
inline Shards shards_of_columns(std::int64_t whole, int parts) { return {whole, parts, 8}; }

// A shard of rows moves in chunks, so that work on the first begins before the last has come. With
// more ranks a shard is shorter, and there are more of them: then it has fewer chunks, or the host
// could not ask for all of them in time. All chunks but the last are whole pairs of tiles, of 256
// rows.
constexpr int kMostChunks = 4;
constexpr int kPairRows = 256;

struct Chunks {
  std::int64_t rows;
  int ranks;  // at least 2

  std::int64_t most() const {  // rows of a chunk
    const std::int64_t pairs = (rows + kPairRows - 1) / kPairRows;
    const int chunks = std::max(1, kMostChunks / (ranks - 1));
    return std::max<std::int64_t>(1, (pairs + chunks - 1) / chunks) * kPairRows;
  }
  int count() const { return static_cast<int>((rows + most() - 1) / most()); }
  std::int64_t first(int i) const { return i * most(); }
  std::int64_t size(int i) const { return std::min(most(), rows - first(i)); }
};

}  // namespace matmul::sharded
