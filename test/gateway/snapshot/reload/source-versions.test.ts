import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openSourceVersions } from '../../../../gateway/snapshot/reload/source-versions.ts'
import type { SourceState } from '../../../../policy-engine/load/load-policy-sources.ts'
import type { PolicyFolder, PolicySources } from '../../../../policy-engine/load/policy-sources.ts'
import { SILENT_LOGGER } from '../../../fixtures/silent-logger.ts'

const logger = SILENT_LOGGER

function aDataDir(t: Test): string {
  const dir = mkdtempSync(join(tmpdir(), 'scopegate-versions-'))
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}

const aFolder = (text: string): PolicyFolder => ({
  folder: { names: ['a.policy.yaml'] },
  files: [{ name: 'a.policy.yaml', source: { text } }],
})

/** Returns the policies of several sources. Each source has one file. */
function aRead(
  ...sources: readonly (readonly [name: string, folder: string, text: string])[]
): PolicySources {
  return {
    ...aFolder(''),
    scopes: undefined,
    presets: undefined,
    hash: '',
    sources: sources.map(([name, folder, text]) => ({
      name,
      folder,
      current: aFolder(text),
      lastValid: undefined,
    })),
  }
}

const valid = (...names: readonly string[]): readonly SourceState[] =>
  names.map((name) => ({
    name,
    owner: undefined,
    state: 'valid',
    version: '',
    routes: 1,
    pathPrefixes: [],
    errors: [],
  }))

/** Returns the last valid version that a new process finds. The current version of the source is an invalid policy. */
async function storedText(dataDir: string, name: string, folder: string): Promise<string | undefined> {
  const read = await openSourceVersions({ dataDir, logger }).attach(aRead([name, folder, 'broken']))
  return textOf(read.sources?.[0]?.lastValid)
}

function textOf(version: PolicyFolder | undefined): string | undefined {
  const [file] = version?.files ?? []
  return file !== undefined && 'text' in file.source ? file.source.text : undefined
}

t.test('a stored version belongs to the name and the folder of its source', async (t) => {
  const dataDir = aDataDir(t)
  await openSourceVersions({ dataDir, logger }).keep(aRead(['billing', '/a', 'v1']), valid('billing'))
  t.equal(await storedText(dataDir, 'billing', '/a'), 'v1')
  t.equal(await storedText(dataDir, 'billing', '/b'), undefined)
})

t.test(
  'the stored version of a source is deleted when the configuration no longer contains the source',
  async (t) => {
    const dataDir = aDataDir(t)
    const versions = openSourceVersions({ dataDir, logger })
    await versions.keep(aRead(['billing', '/a', 'v1'], ['courses', '/c', 'v1']), valid('billing', 'courses'))
    await versions.attach(aRead(['courses', '/c', 'v1']))
    t.same(readdirSync(dataDir), ['policy-source-courses.json'])
    t.same(
      versions.all.map(({ name }) => name),
      ['courses'],
    )
    t.equal(await storedText(dataDir, 'billing', '/a'), undefined)
  },
)

t.test('a slow write of an old version does not replace a newer version', async (t) => {
  const dataDir = aDataDir(t)
  const versions = openSourceVersions({ dataDir, logger })
  const large = '#'.repeat(4_000_000)
  const first = versions.keep(aRead(['a', '/a', large], ['billing', '/b', 'v1']), valid('a', 'billing'))
  await versions.keep(aRead(['a', '/a', large], ['billing', '/b', 'v2']), valid('a', 'billing'))
  await first
  t.ok(existsSync(join(dataDir, 'policy-source-a.json')))
  t.equal(JSON.parse(readFileSync(join(dataDir, 'policy-source-billing.json'), 'utf8')).files[0].text, 'v2')
})

t.test('a worker that starts later uses only the newest valid version', async (t) => {
  const versions = openSourceVersions({ dataDir: undefined, logger })
  await versions.keep(aRead(['billing', '/a', 'v0']), valid('billing'))
  const active = await versions.attach(aRead(['billing', '/a', 'v1']))
  t.equal(textOf(active.sources?.[0]?.lastValid), 'v0')
  await versions.keep(active, valid('billing'))
  t.equal(textOf(versions.renew(active).sources?.[0]?.lastValid), 'v1')
})
