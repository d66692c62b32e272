import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { findPackageRoot } from '../../platform/process/package-root.ts'

// Every class of token attacks must occur in a test name, or in a row of the table of bad tokens.

const root = join(findPackageRoot(), 'test')
const CLASSES: readonly (readonly [number: number, what: string])[] = [
  [39, 'alg none, a null signature, a blank key'],
  [40, 'HS256 with a public RS or ES key as the secret'],
  [41, 'keys and URLs in the header, kid as a path or a query'],
  [42, 'tokens of another type: ID tokens, logout tokens'],
  [43, 'a missing or wrong aud, aud as a list, an audience that services share'],
  [44, 'the key of one issuer for a token of another issuer'],
  [45, 'exp, nbf and iat at their limits, not numbers, or huge'],
  [46, 'one token in several spellings'],
  [47, 'weak, private and duplicate keys, and keys for another use'],
  [48, 'cached token status applied without a new authorization check'],
  [49, 'an introspection result shared by two issuers or two tokens'],
  [50, 'introspection errors treated as active'],
  [51, 'a token in another part of the request, or two tokens'],
  [52, 'scopes that are parsed or compared loosely'],
  [53, 'encrypted, compressed, huge and deeply nested tokens'],
  [54, 'challenges with values from a request'],
  [55, 'an anonymous request with an identity, an invalid token treated as anonymous'],
]

const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && !name.endsWith('classes.test.ts'))
  .map((name) => ({ name, text: readFileSync(join(root, name), 'utf8') }))

/** A test name contains the class as `class 41: …` or `classes 43, 48: …`. */
function namesInTest(text: string, number: number): boolean {
  return [...text.matchAll(/['"`]class(?:es)? ([\d, ]+)/g)].some(([, numbers = '']) =>
    numbers.split(',').some((one) => Number(one) === number),
  )
}

/** The first argument of `row()` and `spelt()` is the number of the class. */
function namesInRow(
  { name, text }: { readonly name: string; readonly text: string },
  number: number,
): boolean {
  return (
    name.startsWith('tokens') &&
    name.endsWith('-rows.ts') &&
    new RegExp(`\\b(?:row|spelt)\\(\\s*${number},`).test(text)
  )
}

for (const [number, what] of CLASSES)
  t.test(`class ${number} (${what}) has at least one test`, async (t) => {
    const found = files.filter((file) => namesInTest(file.text, number) || namesInRow(file, number))
    t.ok(found.length > 0, found.map(({ name }) => name).join(', '))
  })
