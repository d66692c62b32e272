import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { Ajv } from 'ajv'
import t from 'tap'
import { findPackageRoot } from '../../../platform/process/package-root.ts'

const ROOT = findPackageRoot()
const SCRIPTS = join(ROOT, 'scripts', 'image')
const EPOCH = { SOURCE_DATE_EPOCH: '1767225600' }

type Sbom = {
  readonly metadata: { readonly timestamp: string }
  readonly components: readonly {
    readonly name: string
    readonly version: string
    readonly evidence: { readonly occurrences: readonly { readonly location: string }[] }
  }[]
}

t.test('the SBOM is valid CycloneDX 1.6 and lists every component of the image', async (t) => {
  const root = join(t.testdir(), 'root')
  t.equal(runScript('make-root.js', [root]).status, 0)
  const { status, stdout, stderr } = runScript('write-sbom.ts', [root], EPOCH)
  t.equal(status, 0, stderr)
  const sbom = JSON.parse(stdout) as Sbom
  const validate = compileSchema()
  t.ok(validate(sbom), JSON.stringify(validate.errors?.slice(0, 3)))
  t.notOk(validate({ ...sbom, components: [{ type: 'library' }] }), 'the schema rejects an unnamed component')
  t.equal(sbom.metadata.timestamp, '2026-01-01T00:00:00.000Z')
  t.equal(runScript('write-sbom.ts', [root], EPOCH).stdout, stdout, 'a second SBOM is equal')

  const listed = new Set(
    sbom.components.flatMap((one) => one.evidence.occurrences.map(({ location }) => location)),
  )
  const binaries = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((file) =>
    /\.so\.\d$|bin\/node$/.test(file),
  )
  t.ok(binaries.length > 1)
  t.same(
    binaries.filter((file) => !listed.has(`/${file}`)),
    [],
    'Node.js and each shared library is listed',
  )
  const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const names = new Set(sbom.components.map(({ name }) => name))
  t.same(
    Object.keys(dependencies).filter((name) => !names.has(name)),
    [],
  )
  t.notOk(names.has('typescript'), 'a development dependency is not listed')
  t.equal(sbom.components.find(({ name }) => name === 'node')?.version, process.versions.node)
})

t.test('the SBOM script rejects a timestamp that is not in seconds', async (t) => {
  const { status, stderr } = runScript(
    'write-sbom.ts',
    [t.testdir({ usr: { local: { bin: { node: '' } } } })],
    {
      SOURCE_DATE_EPOCH: 'now',
    },
  )
  t.equal(status, 1)
  t.match(stderr, 'SOURCE_DATE_EPOCH must be in seconds (got now)')
})

function runScript(name: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  return spawnSync(process.execPath, [join(SCRIPTS, name), ...args], {
    encoding: 'utf8',
    env: { ...process.env, ...env },
  })
}

/** Compiles the schema of CycloneDX with the schemas that it refers to. */
function compileSchema() {
  const library = dirname(createRequire(import.meta.url).resolve('@cyclonedx/cyclonedx-library/package.json'))
  const read = (name: string) =>
    JSON.parse(readFileSync(join(library, 'res', 'schema', `${name}.SNAPSHOT.schema.json`), 'utf8'))
  const ajv = new Ajv({ strict: false, validateFormats: false })
  for (const name of ['spdx', 'jsf-0.82'])
    ajv.addSchema(read(name), `http://cyclonedx.org/schema/${name}.SNAPSHOT.schema.json`)
  return ajv.compile(read('bom-1.6'))
}
