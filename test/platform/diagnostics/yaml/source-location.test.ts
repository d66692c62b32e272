import t from 'tap'
import { createLocationFinder } from '../../../../platform/diagnostics/yaml/source-location.ts'

const locate = (text: string, start: number, end: number) => {
  const { file, line, column, length, text: shown } = createLocationFinder(text, 'a.yaml')([start, end])
  t.equal(file, 'a.yaml')
  return [line, column, length, shown]
}

t.test('createLocationFinder() counts lines and characters from 1', async (t) => {
  const text = 'ab\ncd\r\n\n😀x\ud83dy'
  for (const [start, end, ...found] of [
    [0, 1, 1, 1, 1, 'ab'],
    [1, 2, 1, 2, 1, 'ab'],
    [2, 3, 1, 3, 1, 'ab'],
    [3, 5, 2, 1, 2, 'cd'],
    [4, 9, 2, 2, 1, 'cd'],
    [5, 6, 2, 3, 1, 'cd'],
    [7, 7, 3, 1, 1, ''],
    [8, 10, 4, 1, 1, '😀x\ud83dy'],
    [10, 11, 4, 2, 1, '😀x\ud83dy'],
    [11, 13, 4, 3, 2, '😀x\ud83dy'],
    [13, 13, 4, 5, 1, '😀x\ud83dy'],
  ] as const)
    t.strictSame(locate(text, start, end), found, `${start} to ${end}`)
  t.strictSame(locate('', 0, 0), [1, 1, 1, ''])
  t.strictSame(locate('a\n', 2, 3), [2, 1, 1, ''])
})

t.test('createLocationFinder() shows lines of at most 10,000 UTF-16 code units', async (t) => {
  const line = 'x'.repeat(10_000)
  t.strictSame(locate(`${line}\r\n`, 9_999, 10_000), [1, 10_000, 1, line])
  t.strictSame(locate(`a\n${line}y\n`, 10_002, 10_003), [2, 10_001, 1, undefined])
})

t.test('createLocationFinder() computes a location once, on first access', async (t) => {
  let calls = 0
  const location = createLocationFinder(
    'ab\ncd',
    'a.yaml',
  )(() => {
    calls += 1
    return [4, 5]
  })
  t.equal(location.file, 'a.yaml')
  t.equal(calls, 0)
  t.strictSame([location.line, location.column, location.length, location.text], [2, 2, 1, 'cd'])
  t.equal(calls, 1)
})
