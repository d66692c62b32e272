import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { findPackageRoot } from '../../platform/process/package-root.ts'

// Every class of token attacks has a test that names it: in the name of a test, or in a row of the table of bad tokens.

const root = join(findPackageRoot(), 'test')
const CLASSES: readonly (readonly [number: number, what: string])[] = [
  [39, 'alg none, a null signature, a blank key'],
  [40, 'RS and ES taken for HS'],
  [41, 'keys and addresses in the header, kid as a path or a query'],
  [42, 'another typ: ID tokens, logout tokens'],
  [43, 'missing, wrong, array aud; an audience shared by services'],
  [44, 'mixed issuers and keys'],
  [45, 'exp, nbf, iat at the edge, not numbers, huge'],
  [46, 'one token in several spellings'],
  [47, 'weak, odd, private, doubled keys'],
  [48, 'verdicts that are not judged afresh'],
  [49, 'an answer shared by two issuers or two tokens'],
  [50, 'introspection errors taken for active'],
  [51, 'a token in other places, or twice'],
  [52, 'scopes that are parsed or compared loosely'],
  [53, 'encrypted, compressed, huge, deep tokens'],
  [54, 'challenges that requests can write into'],
  [55, 'nobody taken for somebody, a bad token for none'],
]

const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && !name.endsWith('classes.test.ts'))
  .map((name) => ({ name, text: readFileSync(join(root, name), 'utf8') }))

/** In the name of a test: `class 41: …`, `classes 43, 48: …`. */
function namesInTest(text: string, number: number): boolean {
  return [...text.matchAll(/['"`]class(?:es)? ([\d, ]+)/g)].some(([, numbers = '']) =>
    numbers.split(',').some((one) => Number(one) === number),
  )
}

/** In a row of the table: its class is the first argument. */
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
  t.test(`${number}, ${what}: there are tests that name it`, async (t) => {
    const found = files.filter((file) => namesInTest(file.text, number) || namesInRow(file, number))
    t.ok(found.length > 0, found.map(({ name }) => name).join(', '))
  })
