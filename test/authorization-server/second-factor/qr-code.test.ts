import { hash } from 'node:crypto'
import t from 'tap'
import { createQrCode } from '../../../authorization-server/second-factor/qr-code.ts'

/** Length of the longest text of each version. Bytes. */
const LONGEST = [
  17, 32, 53, 78, 106, 134, 154, 192, 230, 271, 321, 367, 425, 458, 520, 586, 644, 718, 792, 858,
]

const EXPECTED_TOTP = [
  '#######...#.#.#######',
  '#.....#.....#.#.....#',
  '#.###.#.#.#...#.###.#',
  '#.###.#.....#.#.###.#',
  '#.###.#..#.##.#.###.#',
  '#.....#..###..#.....#',
  '#######.#.#.#.#######',
  '........#.#..........',
  '###.#####.#.###...#..',
  '.....#.....#.#.#..##.',
  '#.#.#.##.###.###.#.##',
  '..#.##..#..###.##..#.',
  '..##.##...##.###.####',
  '........#.#...#......',
  '#######.#.#.#...#.###',
  '#.....#.#.....#....#.',
  '#.###.#.###.#.#.#####',
  '#.###.#..#.#.#.#.#.#.',
  '#.###.#.#.##.###..#.#',
  '#.....#.#.####.###.#.',
  '#######.####.###..###',
].join('\n')

const draw = (text: string): string =>
  (createQrCode(text) ?? []).map((row) => row.map((isDark) => (isDark ? '#' : '.')).join('')).join('\n')

t.test('createQrCode() creates the code of ISO/IEC 18004 for a text of each version', async (t) => {
  t.equal(draw('TOTP'), EXPECTED_TOTP)
  // The last length of each version. The package uqr 0.1.3 created the expected codes (level L, mask 0).
  const all = LONGEST.map((length) => draw('otpauth://totp/'.padEnd(length, 'a1%Z').slice(0, length)))
  t.strictSame(
    all.map((code) => code.split('\n').length),
    LONGEST.map((_, index) => 21 + 4 * index),
  )
  t.equal(hash('sha256', all.join('\n'), 'base64url'), 'KQ2q48rh6d1d1IpsoU4X6zCDbQw4GDox9sadLUzcNXQ')
  t.equal(createQrCode('x'.repeat(859)), undefined)
  t.equal(createQrCode('ä'.repeat(430)), undefined)
})
