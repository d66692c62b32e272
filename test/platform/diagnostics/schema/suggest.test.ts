import t from 'tap'
import { suggest } from '../../../../platform/diagnostics/schema/suggest.ts'

t.test('suggest() returns no suggestion when no candidate is similar', async (t) => {
  t.equal(suggest('banana', ['courses:read', 'orders:read']), undefined)
  t.equal(suggest('', ['a', 'url']), undefined)
  t.equal(suggest('x'.repeat(100_000), ['courses:read']), undefined)
  t.equal(suggest('timout', []), undefined)
})

t.test('suggest() finds the intended word', async (t) => {
  const words = ['timeout', 'courses:read', 'courses:write', 'membership_plans:read', 'learning-platform']
  t.equal(suggest('timout', words), 'timeout')
  t.equal(suggest('course:read', words), 'courses:read')
  t.equal(suggest('courses:raed', words), 'courses:read')
  t.equal(suggest('COURSES:WRITE', words), 'courses:write')
  t.equal(suggest('membership-plans:read', words), 'membership_plans:read')
  t.equal(suggest('learning-platfrom', words), 'learning-platform')
})

t.test('suggest() accepts one edit per four characters, plus one', async (t) => {
  for (const [typed, word, found] of [
    ['abc', 'abd', true],
    ['abc', 'ade', false],
    ['a', 'b', false],
    ['ab', 'ac', true],
    ['abcd', 'abxy', true],
    ['abcd', 'axyz', false],
    ['abcdefgh', 'abcdexyz', true],
    ['abcdefgh', 'abcdwxyz', false],
    ['abcdefg', 'abcdexyz', true],
    ['abcdefg', 'abcdxyz', false],
    ['abcd', 'abcdef', true],
    ['abc', 'abcde', true],
    ['abcd', 'abcdefg', false],
    ['abcdefg', 'abcd', false],
    ['abc', 'acb', true],
    ['bac', 'abc', true],
    ['abcd', 'badc', true],
    ['abc', 'cab', false],
    ['a b.c-d_e', 'a-b_c d.e', true],
  ] as const)
    t.equal(suggest(typed, [word]), found ? word : undefined, `${typed} ${word}`)
})

t.test('suggest() prefers the most similar word, and the first of equally similar words', async (t) => {
  t.equal(suggest('timeout', ['timeoutxx', 'timeoutx', 'timeouty']), 'timeoutx')
  t.equal(suggest('timeout', ['timeoux', 'timeout', 'timeouy']), 'timeout')
  t.equal(suggest('abcd', ['abcd', 'abdc']), 'abcd')
  t.equal(suggest('TIME_OUT', new Set(['time-out'])), 'time-out')
})

t.test('suggest() compares the first 200 characters', async (t) => {
  // For a word of 203 characters, suggest() accepts at most 51 edits.
  const typed = (edits: number) => `${'a'.repeat(edits)}${'x'.repeat(200 - edits)}abc`
  const word = (edits: number) => `${'b'.repeat(edits)}${'x'.repeat(200 - edits)}def`
  t.equal(suggest(typed(51), [word(51)]), word(51))
  t.equal(suggest(typed(52), [word(52)]), undefined)
})
