import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse, stringify } from 'yaml'
import type { Change } from '../../../../cli/commands/diff/compare-policies.ts'
import { findPackageRoot } from '../../../../platform/process/package-root.ts'
import { compilePolicies } from '../../../../policy-engine/decide/compile-policies.ts'
import { loadPolicies } from '../../../../policy-engine/load/load-policies.ts'
import { testResources } from '../../../fixtures/test-resources.ts'
import { type Alphabet, toldAndTried } from './brute-force.ts'

type Implies = Readonly<Record<string, readonly string[]>>
type Pair = {
  readonly it: string
  readonly old: readonly object[]
  readonly new: readonly object[]
  readonly implies?: Implies
  readonly newImplies?: Implies
  readonly says: readonly string[]
}

const PAIRS = parse(
  readFileSync(join(findPackageRoot(), 'test/policies/diff/pairs.yaml'), 'utf8'),
) as readonly Pair[]
const ALPHABET: Alphabet = {
  segments: ['a', 'b', '1', '8'],
  depth: 3,
  methods: ['GET', 'HEAD', 'POST', 'PUT'],
  scopes: ['r', 'w', 'x'],
  headers: {
    h: [undefined, '1', '2', '9'],
    'mcp-name': [undefined, 't'],
    'mcp-protocol-version': ['2026-07-28', '2026-11-25'],
  },
  claims: { c: [undefined, '0', '1', '2', '8', '9', 'a', 'b', 1, ['1', '2'], ['1', '2', '8']] },
}

function compile(routes: readonly object[], implies: Implies) {
  const text = stringify({ apiVersion: 'scopegate/v1', kind: 'Policy', name: 'p', upstream: 'api', routes })
  const files = [{ name: 'p.policy.yaml', source: { text } }]
  const loaded = loadPolicies({ dir: 'nowhere', sources: { folder: { names: ['p.policy.yaml'] }, files } })
  const errors = loaded.diagnostics.filter((one) => one.severity === 'error')
  if (errors.length > 0) throw new Error(errors.map(({ code, message }) => `${code} ${message}`).join('\n'))
  const implication = new Map<string, string[]>()
  for (const [scope, others] of Object.entries(implies))
    for (const other of others) implication.set(other, [...(implication.get(other) ?? [other]), scope])
  return compilePolicies(loaded, { implication, resources: testResources([]) })
}

function briefly({ kind, now, old, widened, narrowed }: Change): string {
  const access = `${widened ? 'w' : ''}${narrowed ? 'n' : ''}`
  const mark = kind === 'new' ? '+' : kind === 'gone' ? '-' : access === '' ? 'c' : access
  return `${(now ?? old ?? '').replace('p/', '')} ${mark}`
}

t.ok(PAIRS.length >= 30)

for (const pair of PAIRS)
  t.test(`diff: ${pair.it}`, async (t) => {
    const old = compile(pair.old, pair.implies ?? {})
    const now = compile(pair.new, pair.newImplies ?? pair.implies ?? {})
    const { changes, told, tried } = toldAndTried(old, now, ALPHABET)
    t.same(changes.map(briefly).toSorted(), pair.says.toSorted(), 'what it says')
    t.same(told, tried, 'what every request and token says')
  })
