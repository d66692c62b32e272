import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { parse, stringify } from 'yaml'
import { main } from '../../cli/main.ts'
import { findPackageRoot } from '../../platform/process/package-root.ts'
import { aTerminal } from '../fixtures/a-terminal.ts'
import {
  type FencedBlock,
  fencedBlocksOf,
  hasKey,
  pagesOfSection,
  readRepositoryFile,
} from '../fixtures/repository-texts.ts'

// Each fenced block of the README, the tutorials and the guides is executed by a test, or is listed with the
// reason why no test can execute it. fenced-blocks.json maps a text, which only one block of the page contains, to one
// of these values. The text "*" stands for all other blocks of the page.
//
// - a test file, which executes the block. The test gets the block with `documentedBlock(PAGE, TEXT)`, and the blocks of
//   "*" with `documentedBlocks(PAGE)`. Both arguments are literals, so that this test finds the call.
// - a file of the project, such as "config/gateway.yaml": this test adds the block to the file, and runs the command
//   `scopegate check`. "#PATH" names the object or the list to which the test adds the block.
// - a file below examples/, which contains the block
// - "not run: REASON"
const ROOT = findPackageRoot()
const CLAIMS: Readonly<Record<string, Readonly<Record<string, string>>>> = JSON.parse(
  readRepositoryFile('test/docs/fenced-blocks.json'),
)
const PAGES = ['Start', 'How-to guides', 'Operate']
  .flatMap(pagesOfSection)
  .filter((page) => !page.startsWith('examples/'))
const claims = (page: string) => Object.entries(CLAIMS[page] ?? {})

t.test('each fenced block has exactly one entry in the list', async (t) => {
  for (const page of PAGES)
    for (const block of fencedBlocksOf(page)) {
      const keys = claims(page).filter(([key]) => key !== '*' && hasKey(block, key))
      const count = keys.length === 0 && CLAIMS[page]?.['*'] !== undefined ? 1 : keys.length
      t.equal(count, 1, `${page}: ${count} entries for the block\n${block.text}`)
    }
})

t.test('each entry of the list belongs to one block', async (t) => {
  t.same(
    Object.keys(CLAIMS).filter((page) => !PAGES.includes(page)),
    [],
    'unknown pages',
  )
  for (const page of PAGES)
    for (const [key, claim] of claims(page)) {
      t.match(claim, /^(?:test|config|policies|examples)\/|^not run: /, `${page}: ${key}`)
      const blocks = fencedBlocksOf(page)
      const found = blocks.filter((block) => hasKey(block, key))
      if (key === '*') t.ok(blocks.length > 0, page)
      else t.equal(found.length, 1, `${page}: ${key}`)
    }
})

t.test('each named test takes the block from the page', async (t) => {
  for (const page of PAGES)
    for (const [key, claim] of claims(page)) {
      if (!claim.startsWith('test/')) continue
      const literal = key.replaceAll('\n', '\\n')
      const call = key === '*' ? `documentedBlocks('${page}')` : `documentedBlock('${page}', '${literal}')`
      t.ok(readCalls(claim).includes(call), `${claim} contains ${call}`)
    }
})

/** Returns a source text in which each call with line breaks between its arguments is in one line. */
function readCalls(path: string): string {
  return readRepositoryFile(path).replaceAll(/\(\s+/g, '(').replaceAll(/,\s+/g, ', ').replaceAll(', )', ')')
}

t.test('the named examples contain the blocks', async (t) => {
  for (const page of PAGES)
    for (const [key, claim] of claims(page)) {
      if (!claim.startsWith('examples/')) continue
      const block = fencedBlocksOf(page).find((block) => hasKey(block, key))
      t.ok(readRepositoryFile(claim).includes(block?.text ?? key), `${claim} contains ${key}`)
    }
})

t.test('scopegate check accepts each block of a configuration file', async (t) => {
  for (const page of PAGES)
    for (const [key, claim] of claims(page)) {
      if (!/^(?:config|policies)\//.test(claim)) continue
      const block = fencedBlocksOf(page).find((block) => hasKey(block, key))
      if (block !== undefined) await checkBlock(t, { page, block, claim })
    }
})

/** Adds the block to its file in a copy of the shipped configuration, and runs `scopegate check`. */
async function checkBlock(
  t: Test,
  { page, block, claim }: { page: string; block: FencedBlock; claim: string },
): Promise<void> {
  const folder = t.testdir({ policies: { 'guide.policy.yaml': stringify(POLICY) } })
  cpSync(join(ROOT, 'config'), join(folder, 'config'), { recursive: true })
  for (const [place, settings] of Object.entries(SETTINGS)) add(folder, `config/${place}`, settings)
  add(folder, claim, parse(block.text))
  const terminal = aTerminal({ folder })
  const args = ['check', '--no-tests', '--config', join(folder, 'config'), join(folder, 'policies')]
  t.equal(await main(args, terminal), 0, `${page}\n${block.text}\n${terminal.said.out}${terminal.said.err}`)
}

/** Adds the members of an object, or the items of a list, to a part of a file. Replaces items with the same name. */
function add(folder: string, place: string, value: object): void {
  const [file = '', section = ''] = place.split('#')
  const path = join(folder, file)
  const content = parse(readFileSync(path, 'utf8'))
  let target = content
  for (const key of section.split('.').filter(Boolean)) target = target[key]
  if (!Array.isArray(value)) Object.assign(target, value)
  else
    for (const item of value) {
      const same = target.find(({ name }: { name: string }) => name === item.name)
      if (same === undefined) target.push(item)
      else Object.assign(same, item)
    }
  writeFileSync(path, stringify(content))
}

/** The names that the blocks use. */
const SETTINGS = {
  'gateway.yaml': {
    baseUrl: 'https://api.example.com',
    issuers: [
      {
        issuer: 'https://api.example.com',
        introspection: {
          endpoint: 'http://authorization-server:8081/api/oauth/introspect',
          clientId: 'gateway',
          clientSecretFile: '/run/secrets/gateway-client',
        },
        revocations: 'http://authorization-server:8081/internal/revocations',
      },
      { issuer: 'https://login.example.com/tenant', jwt: {} },
    ],
  },
  'authorization-server.yaml': { issuer: 'https://api.example.com' },
  'upstreams.yaml': { books: { url: 'http://books:8080' } },
  'presets.yaml#presets': { ours: { anonymous: 'challenge' } },
  'scopes.yaml#scopes': [
    { name: 'books:read', description: 'Read books', group: 'Books', sensitivity: 'read' },
  ],
}

const POLICY = {
  apiVersion: 'scopegate/v1',
  kind: 'Policy',
  name: 'guide',
  upstream: 'learning-platform',
  routes: [
    {
      name: 'guide',
      match: { methods: ['POST'], path: '/guide' },
      anonymous: 'challenge',
      scopes: { all: ['courses:read'] },
    },
  ],
}
