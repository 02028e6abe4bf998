// Which tile of C comes when, for blocks that compute one after the other.
#pragma once

#include <cuda_runtime.h>

#include "common/kit/launch.cuh"

namespace matmul {

// The order in which tiles are computed: in groups of group_rows rows of tiles, each group column
// by column, so that the tiles that are computed at the same time share rows of A and columns of B
// in the L2 cache. The last group may have fewer rows.
struct TileSchedule {
  int down, across;  // tiles
  int group_rows;

  __host__ __device__ int count() const { return down * across; }
  // Row (in .x) and column (in .y) of tile number i, counted in tiles.
  __device__ int2 at(int i) const {
    const int first_row = i / (group_rows * across) * group_rows;
    const int height = min(group_rows, down - first_row);
    const int within = i - first_row * across;
    return make_int2(first_row + within % height, within / height);
  }
};

// Tiles of tile_m x tile_n elements of C, in groups of 2048 rows of C.
inline TileSchedule grouped_schedule(int m, int n, int tile_m, int tile_n) {
  return {kit::divide_up(m, tile_m), kit::divide_up(n, tile_n), 2048 / tile_m};
}

// The same where all tiles may run at once, `at_once` or fewer. Of a C that is tall they come row
// by row: then those that start one after the other are in few rows of tiles and in all columns,
// and have more of A and B in common. (Measured on an H200: up to 20 percent faster.)
inline TileSchedule one_wave_schedule(int m, int n, int tile_m, int tile_n, int at_once) {
  TileSchedule tiles = grouped_schedule(m, n, tile_m, tile_n);
  if (m > n && tiles.count() <= at_once) tiles.group_rows = 1;
  return tiles;
}

// Where a tile of `size` rows begins that would begin at row `at` of `rows`: one that would stick
// out begins earlier, for TMA takes longer to fill a row that is outside than to load one.
__device__ inline int row_inside(int at, int size, int rows) {
  return max(0, min(at, rows - size));
}
// The same for columns: a tile begins at a multiple of 8, as TMA wants it.
__device__ inline int col_inside(int at, int size, int cols) {
  return row_inside(at, size, kit::divide_up(cols, 8) * 8);
}
constexpr int kAnywhere = 2147483640;  // as rows or cols: it may stick out

}  // namespace matmul
