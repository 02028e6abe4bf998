// Sums of products as an H200's tensor cores round them.
//
// An instruction adds up to `products` products and the accumulator at once:
//  1. Products are exact. The exponent of a product is the sum of its factors' exponents, where a
//     subnormal number has the exponent of the least normal one: it is not normalized.
//  2. All terms are written in units of 2^(largest exponent - fraction_bits); what is below a unit
//     is cut off, toward zero. `floor` is the least that the largest exponent is taken for.
//  3. The units are added exactly: no sum on the way is too large.
//  4. The sum is rounded once: toward zero to a float, or to a float of which 13 bits of fraction
//     are kept, or to the nearest half, ties to even. Too large ones become infinite. A sum that
//     is zero, or that rounding makes zero, is +0.
//
// simt/suites/tensor_sums compares this with a GPU, bit for bit; its README.md has the sources.
#pragma once

namespace simt {

enum class Number { e4m3, e5m2, f16, bf16, tf32 };

enum class Instruction { wgmma, mma_sync, wmma };

// d (rows x columns) += a (rows x k) b (k x columns), all row-major with rows of the given lengths.
// At most 256 columns; k is 4, 8, 16 or 32. d holds halves if the result is one. A NaN has all bits
// set but the sign.
void add_products(Instruction instruction, Number type_a, Number type_b, bool half_result, int rows,
                  int columns, int k, const float* a, int a_length, const float* b, int b_length,
                  float* d, int d_length);

}  // namespace simt
