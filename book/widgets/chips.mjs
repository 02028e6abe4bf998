// What the calculators know about chips, from NVIDIA's data sheets and programming guide; the H200's
// tensor cores as chapter 04 counts them, at the clock of its 67 TFLOP/s (the data sheet: 989).

export const CHIPS = {
  'H200 SXM': { sms: 132, bandwidth: 4.8e12, fp32: 67e12, tensor: 1070e12, warps: 64, blocks: 32, registers: 65536, shared: 228 },
  'A100 80 GB SXM': { sms: 108, bandwidth: 2.039e12, fp32: 19.5e12, tensor: 312e12, warps: 64, blocks: 32, registers: 65536, shared: 164 },
  'RTX 4090': { sms: 128, bandwidth: 1.008e12, fp32: 82.6e12, tensor: 165e12, warps: 48, blocks: 24, registers: 65536, shared: 100 },
  'T4': { sms: 40, bandwidth: 0.32e12, fp32: 8.1e12, tensor: 65e12, warps: 32, blocks: 16, registers: 65536, shared: 64 },
}

export const chipInput = { name: 'chip', label: 'Chip', options: Object.keys(CHIPS), value: 'H200 SXM' }
