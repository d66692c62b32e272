import t from 'tap'
import {
  formatByteSize,
  formatDuration,
  parseByteSize,
  parseCidr,
  parseDurationMs,
  TIMEOUT_PATTERN,
  WINDOW_PATTERN,
} from '../../../../platform/diagnostics/schema/value-formats.ts'

t.test('parseDurationMs() rejects text that is not a whole number with a unit', async (t) => {
  for (const text of [
    '',
    '5',
    's',
    '5 s',
    ' 5s',
    '5s\n',
    '-5s',
    '+5s',
    '1.5s',
    '5S',
    '5sec',
    '5w',
    '1h30m',
    '0x5s',
    '٥s',
    '99999999d',
    '1e3s',
  ])
    t.equal(parseDurationMs(text), undefined, JSON.stringify(text))
})

t.test('parseDurationMs() reads each unit', async (t) => {
  const cases = {
    '0s': 0,
    '250ms': 250,
    '5s': 5_000,
    '1m': 60_000,
    '12h': 43_200_000,
    '30d': 2_592_000_000,
    '9999999d': 863_999_913_600_000,
  }
  for (const [text, ms] of Object.entries(cases)) t.equal(parseDurationMs(text), ms, text)
})

t.test('formatDuration() uses the largest unit that divides the milliseconds, and no days', async (t) => {
  const cases = {
    '1ms': 1,
    '1s': 1_000,
    '1001ms': 1_001,
    '90s': 90_000,
    '2m': 120_000,
    '1h': 3_600_000,
    '48h': 172_800_000,
    '0.5ms': 0.5,
  }
  for (const [text, ms] of Object.entries(cases)) t.equal(formatDuration(ms), text, text)
})

/** Returns the whole numbers below `end` that a pattern accepts with each unit. */
function accepted(pattern: string, end: number): Record<string, string> {
  const form = new RegExp(pattern)
  return Object.fromEntries(
    ['ms', 's', 'm', 'h', 'd'].map((unit) => {
      const numbers = Array.from({ length: end }, (_, number) => number).filter((number) =>
        form.test(`${number}${unit}`),
      )
      return [
        unit,
        numbers.length === 0 ? 'none' : `${numbers[0]} to ${numbers.at(-1)}, ${numbers.length} numbers`,
      ]
    }),
  )
}

t.test('TIMEOUT_PATTERN accepts 1 ms to 99 h', async (t) => {
  t.strictSame(accepted(TIMEOUT_PATTERN, 200_000), {
    ms: '1 to 199999, 199999 numbers',
    s: '1 to 99999, 99999 numbers',
    m: '1 to 999, 999 numbers',
    h: '1 to 99, 99 numbers',
    d: 'none',
  })
  for (const text of ['9999999ms', '1ms']) t.match(text, new RegExp(TIMEOUT_PATTERN))
  for (const text of ['10000000ms', '01s', 'x1s', '1s ', '1sx']) t.notMatch(text, new RegExp(TIMEOUT_PATTERN))
})

t.test('WINDOW_PATTERN accepts 1 s to 24 h', async (t) => {
  t.strictSame(accepted(WINDOW_PATTERN, 200_000), {
    ms: 'none',
    s: '1 to 86400, 86400 numbers',
    m: '1 to 1440, 1440 numbers',
    h: '1 to 24, 24 numbers',
    d: 'none',
  })
  for (const text of ['01s', 'x1s', '1sx']) t.notMatch(text, new RegExp(WINDOW_PATTERN))
})

t.test('parseByteSize() rejects decimal units and other invalid text', async (t) => {
  for (const text of ['', '10', 'MiB', '10MB', '10kb', '10mib', '1.5MiB', '-1B', ' 1B', '1B\n', '9999999B'])
    t.equal(parseByteSize(text), undefined, JSON.stringify(text))
})

t.test('parseByteSize() reads each unit', async (t) => {
  const cases = { '0B': 0, '512B': 512, '16KiB': 16_384, '10MiB': 10_485_760, '1GiB': 1_073_741_824 }
  for (const [text, bytes] of Object.entries(cases)) t.equal(parseByteSize(text), bytes, text)
})

t.test('formatByteSize() uses the largest unit that divides the bytes', async (t) => {
  const cases = {
    '512B': 512,
    '1KiB': 1_024,
    '1025B': 1_025,
    '10MiB': 10_485_760,
    '1GiB': 1_073_741_824,
    '1.5B': 1.5,
  }
  for (const [text, bytes] of Object.entries(cases)) t.equal(formatByteSize(bytes), text, text)
})

t.test('parseByteSize() accepts six digits', async (t) => {
  t.equal(parseByteSize('999999B'), 999_999)
  t.equal(parseByteSize('1000000B'), undefined)
})

t.test('parseCidr() rejects invalid blocks and blocks that contain every address', async (t) => {
  for (const text of [
    '',
    'everybody',
    '10.0.0.0/33',
    '10.0.0.0/-1',
    '10.0.0.0/08',
    '10.0.0.0/',
    '10.0.0/8',
    '10.0.0.0/8/8',
    ' 10.0.0.0/8',
    '0.0.0.0/0',
    '::/0',
    'fd00::/129',
    '::ffff:10.0.0.0/104',
    '0:0:0:0:0:ffff:10.0.0.1',
    '::/1',
    '::/64',
    'fe80::1%eth0',
    'example.com',
  ])
    t.equal(parseCidr(text), undefined, text)
})

t.test('parseCidr() reads blocks and single addresses', async (t) => {
  t.strictSame(parseCidr('10.0.0.0/8'), { address: '10.0.0.0', prefixBits: 8, family: 'ipv4' })
  t.strictSame(parseCidr('128.0.0.0/1'), { address: '128.0.0.0', prefixBits: 1, family: 'ipv4' })
  t.strictSame(parseCidr('192.0.2.7'), { address: '192.0.2.7', prefixBits: 32, family: 'ipv4' })
  t.strictSame(parseCidr('fd00::/8'), { address: 'fd00::', prefixBits: 8, family: 'ipv6' })
  t.ok(parseCidr('::/96'))
  t.strictSame(parseCidr('::1'), { address: '::1', prefixBits: 128, family: 'ipv6' })
})
