import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { findPackageRoot } from '../../platform/process/package-root.ts'

// Every class of token attacks must occur in a test name, or in a row of the table of bad tokens.

const root = join(findPackageRoot(), 'test')
const CLASSES: readonly (readonly [number: number, what: string])[] = [
  [39, 'alg none, a null signature, a blank key'],
  [40, 'RS and ES confused with HS'],
  [41, 'keys and URLs in the header, kid as a path or a query'],
  [42, 'another typ: ID tokens, logout tokens'],
  [43, 'missing, wrong, array aud; an audience shared by services'],
  [44, 'mixed issuers and keys'],
  [45, 'exp, nbf, iat at the edge, not numbers, huge'],
  [46, 'one token in several spellings'],
  [47, 'weak, odd, private, doubled keys'],
  [48, 'cached token status applied without a new authorization check'],
  [49, 'an introspection result shared by two issuers or two tokens'],
  [50, 'introspection errors treated as active'],
  [51, 'a token in other places, or twice'],
  [52, 'scopes that are parsed or compared loosely'],
  [53, 'encrypted, compressed, huge, deep tokens'],
  [54, 'challenges that requests can write into'],
  [55, 'an anonymous request with an identity, a bad token treated as anonymous'],
]

const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && !name.endsWith('classes.test.ts'))
  .map((name) => ({ name, text: readFileSync(join(root, name), 'utf8') }))

/** Returns whether a test name contains the class: `class 41: …`, `classes 43, 48: …`. */
function namesInTest(text: string, number: number): boolean {
  return [...text.matchAll(/['"`]class(?:es)? ([\d, ]+)/g)].some(([, numbers = '']) =>
    numbers.split(',').some((one) => Number(one) === number),
  )
}

/** Returns whether a row of the table has the class as its first argument. */
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
  t.test(`${number}, ${what}: at least one test names this class`, async (t) => {
    const found = files.filter((file) => namesInTest(file.text, number) || namesInRow(file, number))
    t.ok(found.length > 0, found.map(({ name }) => name).join(', '))
  })
