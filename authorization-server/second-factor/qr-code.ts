/** Codewords for error correction in each block, by version. Level L. ISO/IEC 18004 table 9. */
const CORRECTION = [7, 10, 15, 20, 26, 18, 20, 24, 30, 18, 20, 24, 26, 30, 22, 24, 28, 30, 28, 28]
/** Number of blocks, by version. Level L. */
const BLOCKS = [1, 1, 1, 1, 1, 2, 2, 2, 2, 4, 4, 4, 4, 4, 6, 6, 6, 6, 7, 8]
const BYTE_MODE = 0b0100
const LEVEL_L = 0b01
const FILLERS = [0xec, 0x11]

/** A QR code. `isDark[y][x]` is true for a dark module. */
export type QrCode = readonly (readonly boolean[])[]

type Modules = (boolean | undefined)[][]

/**
 * Creates a QR code with error correction level L and mask 0. Source: ISO/IEC 18004.
 * @returns undefined if the text has more than 858 bytes.
 */
export function createQrCode(text: string): QrCode | undefined {
  const data = Buffer.from(text)
  const version =
    BLOCKS.findIndex((_, index) => data.length + headerBytes(index + 1) <= capacity(index + 1)) + 1
  if (version === 0) return undefined
  const size = 17 + 4 * version
  const modules: Modules = Array.from({ length: size }, () => Array.from({ length: size }, () => undefined))
  drawFunctionPatterns(modules, version)
  const bytes = interleave(dataCodewords(data, version), version)
  let bit = 0
  for (const [x, y] of dataPositions(size)) {
    const row = modules[y]
    if (row === undefined || row[x] !== undefined) continue
    const isSet = ((bytes[bit >> 3] ?? 0) >> (7 - (bit & 7))) & 1
    row[x] = (isSet === 1) !== ((x + y) % 2 === 0)
    bit += 1
  }
  return modules.map((row) => row.map((isDark) => isDark === true))
}

/** Number of bytes of the mode, the length and the terminator. Incomplete bytes count as complete bytes. */
function headerBytes(version: number): number {
  return version < 10 ? 2 : 3
}

function totalCodewords(version: number): number {
  const alignments = version === 1 ? 0 : Math.floor(version / 7) + 2
  const functional = version === 1 ? 0 : (25 * alignments - 10) * alignments - 55
  return ((16 * version + 128) * version + 64 - functional - (version >= 7 ? 36 : 0)) >> 3
}

function capacity(version: number): number {
  return totalCodewords(version) - (CORRECTION[version - 1] ?? 0) * (BLOCKS[version - 1] ?? 0)
}

function dataCodewords(data: Buffer, version: number): readonly number[] {
  const length = data.length.toString(16).padStart(version < 10 ? 2 : 4, '0')
  const hex = `${BYTE_MODE.toString(16)}${length}${data.toString('hex')}0`
  const bytes = [...Buffer.from(hex, 'hex')]
  for (let index = 0; bytes.length < capacity(version); index++) bytes.push(FILLERS[index % 2] ?? 0)
  return bytes
}

/** Splits the data into blocks, adds the error correction, and interleaves the codewords. */
function interleave(data: readonly number[], version: number): readonly number[] {
  const [count = 1, correction = 0] = [BLOCKS[version - 1], CORRECTION[version - 1]]
  const shortLength = Math.floor(data.length / count)
  const long = data.length % count
  let start = 0
  const blocks = Array.from({ length: count }, (_, index) => {
    const end = start + shortLength + (index < count - long ? 0 : 1)
    const block = data.slice(start, end)
    start = end
    return block
  })
  const corrections = blocks.map((block) => remainder(block, correction))
  const columns = (rows: readonly (readonly number[])[], length: number) =>
    Array.from({ length }, (_, column) => rows.flatMap((row) => row[column] ?? [])).flat()
  return [...columns(blocks, shortLength + 1), ...columns(corrections, correction)]
}

/** Returns the Reed-Solomon codewords of a block. */
function remainder(block: readonly number[], length: number): readonly number[] {
  let divisor = [1]
  for (let index = 0, root = 1; index < length; index++, root = multiply(root, 2))
    divisor = [...divisor, 0].map((one, at) => one ^ multiply(divisor[at - 1] ?? 0, root))
  const rest = [...block, ...Array.from({ length }, () => 0)]
  for (let index = 0; index < block.length; index++) {
    const factor = rest[index] ?? 0
    for (const [at, one] of divisor.entries())
      rest[index + at] = (rest[index + at] ?? 0) ^ multiply(one, factor)
  }
  return rest.slice(block.length)
}

/** Multiplies in the field GF(2^8) with the polynomial 0x11d. */
function multiply(a: number, b: number): number {
  let product = 0
  for (let bit = 7; bit >= 0; bit--)
    product = (product << 1) ^ (product & 0x80 ? 0x11d : 0) ^ ((b >> bit) & 1 ? a : 0)
  return product
}

function drawFunctionPatterns(modules: Modules, version: number): void {
  const size = modules.length
  const set = (x: number, y: number, isDark: boolean): void => {
    const row = modules[y]
    if (row !== undefined && x >= 0 && x < size) row[x] = isDark
  }
  const square = (centerX: number, centerY: number, radius: number, light: readonly number[]): void => {
    for (let dy = -radius; dy <= radius; dy++)
      for (let dx = -radius; dx <= radius; dx++)
        set(centerX + dx, centerY + dy, !light.includes(Math.max(Math.abs(dx), Math.abs(dy))))
  }
  for (let at = 0; at < size; at++) {
    set(6, at, at % 2 === 0)
    set(at, 6, at % 2 === 0)
  }
  for (const [x, y] of [
    [3, 3],
    [size - 4, 3],
    [3, size - 4],
  ] as const)
    square(x, y, 4, [2, 4])
  const centers = alignmentCenters(version)
  const last = centers.length - 1
  for (const [column, x] of centers.entries())
    for (const [row, y] of centers.entries()) {
      const isFinder = (column === 0 && (row === 0 || row === last)) || (column === last && row === 0)
      if (!isFinder) square(x, y, 2, [1])
    }
  const format = bch(LEVEL_L << 3, 10, 0x537) ^ 0x5412
  for (let bit = 0; bit < 15; bit++) {
    const isDark = ((format >> bit) & 1) === 1
    const near = bit < 6 ? bit : bit < 8 ? bit + 1 : 15 - bit
    if (bit < 8) set(8, near, isDark)
    else set(bit === 8 ? 7 : near - 1, 8, isDark)
    if (bit < 8) set(size - 1 - bit, 8, isDark)
    else set(8, size - 15 + bit, isDark)
  }
  set(8, size - 8, true)
  if (version < 7) return
  const bits = bch(version, 12, 0x1f25)
  for (let bit = 0; bit < 18; bit++) {
    const [far, near] = [size - 11 + (bit % 3), Math.floor(bit / 3)]
    set(far, near, ((bits >> bit) & 1) === 1)
    set(near, far, ((bits >> bit) & 1) === 1)
  }
}

/** Appends the remainder of a division by a polynomial. */
function bch(value: number, bits: number, polynomial: number): number {
  let rest = value
  for (let bit = 0; bit < bits; bit++) rest = (rest << 1) ^ ((rest >> (bits - 1)) * polynomial)
  return (value << bits) | rest
}

function alignmentCenters(version: number): readonly number[] {
  if (version === 1) return []
  const count = Math.floor(version / 7) + 2
  const step = Math.ceil((version * 4 + 4) / (count * 2 - 2)) * 2
  return [
    6,
    ...Array.from({ length: count - 1 }, (_, index) => 10 + 4 * version - step * (count - 2 - index)),
  ]
}

/** Yields the positions of the data: columns of two modules from the right, alternately up and down. */
function* dataPositions(size: number): Generator<readonly [number, number]> {
  for (let right = size - 1; right >= 1; right -= 2) {
    if (right === 6) right = 5
    for (let step = 0; step < size; step++)
      for (const x of [right, right - 1]) yield [x, ((right + 1) & 2) === 0 ? size - 1 - step : step]
  }
}
