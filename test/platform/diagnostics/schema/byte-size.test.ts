import t from 'tap'
import { formatByteSize, parseByteSize } from '../../../../platform/diagnostics/schema/byte-size.ts'

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
