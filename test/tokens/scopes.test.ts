import fc from 'fast-check'
import t from 'tap'
import { NO_IMPLICATION } from '../../oauth/scope.ts'
import { checkAccess } from '../../policy-engine/decide/check-access.ts'
import { compileScopeCheck, createScopeSets } from '../../policy-engine/decide/scope-check.ts'
import { aCaller } from '../fixtures/a-caller.ts'

// Class 52: the gateway splits a scope string at single spaces, and compares each scope exactly.

const NAMES = ['courses:read', 'courses:write', 'courses:readwrite', 'courses', 'Courses:read', 'orders:read']
const RESOURCE = { identifier: 'https://api.test', issuers: ['https://api.test'] }
const token = fc.oneof(fc.constantFrom(...NAMES), fc.string({ unit: 'grapheme-ascii', maxLength: 8 }))
const separator = fc.constantFrom(' ', ' ', ' ', '  ', '\t', ',', '\n', '+', ';', '\u00a0')

/** Splits a scope string by the grammar of RFC 6749 section 3.3, without code of the gateway. */
function split(text: string): readonly string[] | undefined {
  const found: string[] = []
  let current = ''
  for (const character of [...text, ' ']) {
    const code = character.codePointAt(0) ?? 0
    if (character === ' ') {
      if (current === '') return text === '' ? [] : undefined
      found.push(current)
      current = ''
    } else if (code < 0x21 || code > 0x7e || character === '"' || character === '\\') return undefined
    else current += character
  }
  return found
}

t.test(
  'class 52: parses a scope string by the RFC 6749 grammar and allows exactly those scopes',
  async () => {
    const read = createScopeSets()
    fc.assert(
      fc.property(
        fc.array(fc.tuple(token, separator), { maxLength: 5 }),
        fc.uniqueArray(fc.constantFrom(...NAMES), { minLength: 1, maxLength: 3 }),
        (parts, all) => {
          const text = parts.map(([name, between], index) => (index === 0 ? name : between + name)).join('')
          const granted = read(text)
          const wanted = split(text)
          if ((granted === undefined) !== (wanted === undefined)) return false
          if (granted === undefined || wanted === undefined) return true
          if ([...granted.set].join(' ') !== [...new Set(wanted)].join(' ')) return false
          const rejection = checkAccess(
            { nowSeconds: 0, resource: RESOURCE },
            aCaller({ scopes: granted.set }),
            {
              anonymous: 'deny',
              authentication: undefined,
              scopes: compileScopeCheck({ all, any: [] }, NO_IMPLICATION),
              when: [],
            },
          )
          const missing = all.filter((scope) => !wanted.includes(scope))
          return missing.length === 0
            ? rejection === undefined
            : rejection?.rejected === 'scope_missing' && rejection.missing.join() === missing.join()
        },
      ),
      { numRuns: 5_000 },
    )
  },
)
