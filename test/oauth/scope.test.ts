import { deepEqual } from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { formatScope, parseScope } from '../../oauth/scope.ts'

t.test('RFC 6749 §3.3: parseScope() rejects values outside the grammar', async (t) => {
  for (const scope of [' ', 'a  b', ' a', 'a ', 'a\tb', 'a\nb', 'a"b', 'a\\b', 'é', 'a\u0000', 'a\u007f'])
    t.equal(parseScope(scope), undefined, JSON.stringify(scope))
})

t.test('parseScope() keeps the order and removes duplicate tokens', async (t) => {
  t.same(parseScope('b a b'), ['b', 'a'])
  t.same(parseScope(''), [])
})

t.test('parseScope() compares scopes exactly, without prefix match or case folding', async (t) => {
  t.same(parseScope('courses:readwrite Courses:read'), ['courses:readwrite', 'Courses:read'])
})

t.test('parseScope() and formatScope() are inverse for every list of scope tokens', async (t) => {
  const token = fc.stringMatching(/^[\x21\x23-\x5b\x5d-\x7e]{1,12}$/)
  const undo = fc.property(fc.uniqueArray(token, { maxLength: 8 }), (tokens) => {
    deepEqual(parseScope(formatScope(tokens)), tokens)
  })
  t.doesNotThrow(() => fc.assert(undo, { numRuns: 1000 }))
})
