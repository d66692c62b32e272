import { chmodSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import t from 'tap'
import { formatDiagnostics } from '../../platform/diagnostics/format-diagnostics.ts'
import { loadPolicies } from '../../policy-engine/load/load-policies.ts'
import stableNames from '../docs/stable-names.json' with { type: 'json' }
import { describe, loadBroken, readExpectations } from '../fixtures/broken-policies.ts'
import { readErrorPages } from '../fixtures/error-pages.ts'
import { belongsTo, pathsByLocation } from '../fixtures/schema-paths.ts'

const BROKEN = join(import.meta.dirname, 'broken')
const ENTRIES = readdirSync(BROKEN).filter((name) => !name.endsWith('.expected') && name !== 'README.md')
/** Codes for files that a repository cannot contain, such as unreadable files. The tests below create such files. */
const MADE_UP = ['P001', 'P003', 'P005', 'P018']

const found = new Set<string>(MADE_UP)

for (const entry of ENTRIES)
  t.test(`${entry} causes exactly the expected diagnostics`, async (t) => {
    const path = join(BROKEN, entry)
    const files = statSync(path).isDirectory() ? readdirSync(path).map((name) => join(path, name)) : [path]
    const diagnostics = loadBroken(files)
    for (const { code } of diagnostics) found.add(code)
    for (const file of files)
      t.same(
        describe(diagnostics.filter((one) => one.location.file === relative(process.cwd(), file))),
        readExpectations(file),
      )
    for (const { location } of diagnostics)
      if (location.line !== undefined)
        t.equal(
          location.text,
          readFileSync(location.file, 'utf8')
            .replace(/^\ufeff/, '')
            .split('\n')
            [location.line - 1]?.replace(/\r$/, ''),
        )
    t.notMatch(formatDiagnostics(diagnostics), /\n\s+at |node_modules|undefined/, 'no stack')
  })

t.test('every error code of policies has a file with this error', async (t) => {
  t.ok(ENTRIES.length >= 60)
  const codes = readErrorPages().map(({ code }) => code)
  t.same(
    codes.filter((code) => code.startsWith('P') && !found.has(code)),
    // Only policy sources cause these codes. test/policy-engine/load/source-permissions.test.ts tests them.
    ['P007', 'P401', 'P402', 'P403', 'P404', 'P405', 'P406', 'P407', 'P408', 'P409'],
  )
})

t.test('every key of a policy has a wrong value in the folder wrong-values', async (t) => {
  const keys = stableNames['Keys of policy files'].filter((name) => !name.includes(' = '))
  t.ok(keys.length >= 130)
  const folder = join(BROKEN, 'wrong-values')
  const files = readdirSync(folder).map((name) => join(folder, name))
  const paths = new Map(files.map((file) => [relative(process.cwd(), file), pathsByLocation(file)]))
  const wrong = loadBroken(files).map(({ location: { file, line, column } }) => {
    const kind = file.endsWith('_test.yaml') ? 'test' : 'policy'
    return `${kind}: ${paths.get(file)?.get(`${line}:${column}`)}`
  })
  t.same(
    keys.filter((key) => !wrong.some((path) => belongsTo(path, key))),
    // A wrong value of these two keys ends the check of the file. Other files have such values.
    ['policy: apiVersion', 'policy: kind'],
  )
})

t.test('loadPolicies() explains folders and files that cannot be read', async (t) => {
  const codes = (dir: string) => loadPolicies({ dir }).diagnostics.map((one) => `${one.code} ${one.message}`)
  const dir = t.testdir({
    empty: {},
    folder: { 'a.policy.yaml': {} },
    dangling: { 'a.policy.yaml': t.fixture('symlink', 'nowhere') },
    loop: { 'a.policy.yaml': t.fixture('symlink', 'a.policy.yaml') },
    large: { 'a.policy.yaml': `#${'x'.repeat(10_000_000)}` },
    secret: { 'a.policy.yaml': 'x' },
    file: 'text',
    other: { 'courses.yaml': 'x', 'b.policy.yml': 'x', 'README.md': 'x', '..data': {} },
  })
  t.match(codes(join(dir, 'nowhere')), [/^P001 the folder does not exist/])
  t.match(codes(join(dir, 'file')), [/^P001 this is a file, not a folder/])
  t.match(codes(join(dir, 'empty')), [/^P005 this folder contains no \*\.policy\.yaml/])
  t.match(codes(join(dir, 'folder')), [/^P001 this is a folder/])
  t.match(codes(join(dir, 'dangling')), [/^P001 the file does not exist/])
  t.match(codes(join(dir, 'loop')), [/^P001 .*symbolic link/])
  t.match(codes(join(dir, 'large')), [/^P003 .*10000001 bytes/])
  t.match(codes(join(dir, 'other')), [/^P005/, /^P006/, /^P006/])
  chmodSync(join(dir, 'secret', 'a.policy.yaml'), 0)
  // This check is useless for root, because root can read every file.
  if (process.getuid?.() !== 0) t.match(codes(join(dir, 'secret')), [/^P001 permission denied/])
})

t.test(
  'loadPolicies() reads a hostile file in time proportional to its size, and shows 50 problems per code',
  async (t) => {
    const head = 'apiVersion: scopegate/v1\nkind: Policy\nname: a\nupstream: learning-platform\nroutes:\n'
    const many = (make: (index: number) => string) => {
      let text = ''
      for (let index = 0; text.length < 100_000; index++) text += make(index)
      return text
    }
    const route = '  - name: x\n    match: { methods: [GET], path: /x }\n'
    for (const [text, codes] of [
      ['['.repeat(100_000), ['P018']],
      [many((index) => `k${index}: 1\n`), ['P101', 'P103']],
      [`${head}${route}    scopes: { all: [${many((index) => `s${index},`)}] }\n`, ['P201']],
      [
        `${head}  - name: x\n    match: { path: /x, methods: [${many((index) => `G${index},`)}] }\n`,
        ['P102'],
      ],
      [`a: &a [x, x]\n${many((index) => `a${index}: &a${index} [*a, *a]\n`)}`, ['P016', 'P101']],
      [
        `${head}${many((index) => `  - name: x${index}\n    match: { methods: [GET], path: /x }\n`)}`,
        ['P301', 'P314'],
      ],
    ] as const) {
      const { diagnostics } = loadPolicies({
        dir: t.testdir({ 'a.policy.yaml': text }),
        catalogue: new Map(),
      })
      t.same([...new Set(diagnostics.map(({ code }) => code))].toSorted(), codes)
      for (const code of codes) t.ok(diagnostics.filter((one) => one.code === code).length <= 51, code)
      t.ok(formatDiagnostics(diagnostics).length < 200_000)
    }
  },
)
