// Every widget: { name, title, about, inputs, compute, facts, ask?, draw? }. compute() is a pure function
// of the inputs, facts() the numbers it gives as text, draw() a picture of them; ask is a question that it answers.

import attention from './attention.mjs'
import banks from './banks.mjs'
import coalescing from './coalescing.mjs'
import contention from './contention.mjs'
import divergence from './divergence.mjs'
import lookBack from './look_back.mjs'
import mbarrier from './mbarrier.mjs'
import occupancy from './occupancy.mjs'
import quantization from './quantization.mjs'
import reduction from './reduction.mjs'
import ring from './ring.mjs'
import roofline from './roofline.mjs'
import softmax from './softmax.mjs'
import streams from './streams.mjs'
import swizzle from './swizzle.mjs'
import wgmma from './wgmma.mjs'

export const WIDGETS = [roofline, occupancy, coalescing, banks, divergence, quantization, reduction, lookBack, ring, contention, streams, softmax, attention, mbarrier, wgmma, swizzle]
