import { deepEqual } from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { formatScope, parseScope } from '../../oauth/scope.ts'

t.test('§3.3 RFC 6749: parseScope() refuses what the grammar does not allow', async (t) => {
  for (const scope of [' ', 'a  b', ' a', 'a ', 'a\tb', 'a\nb', 'a"b', 'a\\b', 'é', 'a\u0000', 'a\u007f'])
    t.equal(parseScope(scope), undefined, JSON.stringify(scope))
})

t.test('parseScope() keeps the order and each token once', async (t) => {
  t.same(parseScope('b a b'), ['b', 'a'])
  t.same(parseScope(''), [])
})

t.test('parseScope() never takes one scope for another: no prefix, no case folding', async (t) => {
  t.same(parseScope('courses:readwrite Courses:read'), ['courses:readwrite', 'Courses:read'])
})

t.test('parseScope() and formatScope() undo each other for every list of scope tokens', async (t) => {
  const token = fc.stringMatching(/^[\x21\x23-\x5b\x5d-\x7e]{1,12}$/)
  const undo = fc.property(fc.uniqueArray(token, { maxLength: 8 }), (tokens) => {
    deepEqual(parseScope(formatScope(tokens)), tokens)
  })
  t.doesNotThrow(() => fc.assert(undo, { numRuns: 1000 }))
})
