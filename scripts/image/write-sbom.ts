// Prints the software bill of materials (SBOM) of the images in the format CycloneDX 1.6 JSON. Usage:
// node scripts/image/write-sbom.ts ROOT. ROOT is a folder of make-root.js on this machine. SOURCE_DATE_EPOCH is the
// timestamp of the SBOM in seconds. Default: the SBOM has no timestamp, so that equal images have equal SBOMs.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findProductionPackages } from './production-packages.ts'

type Component = {
  readonly type: string
  readonly name: string
  readonly version: string
  readonly purl: string
  readonly [key: string]: unknown
}

const SOURCES = fileURLToPath(new URL('../..', import.meta.url))
const [root] = process.argv.slice(2)
if (root === undefined) fail('usage: node scripts/image/write-sbom.ts ROOT')

const { version } = readJson('package.json')
const components = [describeNode(root), ...describeLibraries(root), ...describePackages()]
const epoch = process.env['SOURCE_DATE_EPOCH']
if (epoch !== undefined && !/^\d+$/.test(epoch)) fail(`SOURCE_DATE_EPOCH must be in seconds (got ${epoch})`)
const sbom = {
  $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
  bomFormat: 'CycloneDX',
  specVersion: '1.6',
  version: 1,
  metadata: {
    ...(epoch === undefined ? {} : { timestamp: new Date(Number(epoch) * 1000).toISOString() }),
    component: {
      ...{ type: 'container', 'bom-ref': 'image', name: 'scopegate', version },
      licenses: [{ license: { id: 'Apache-2.0' } }],
    },
  },
  components: components.map((one) => ({ 'bom-ref': one.purl, ...one })),
  dependencies: [{ ref: 'image', dependsOn: components.map(({ purl }) => purl) }],
}
process.stdout.write(`${JSON.stringify(sbom, null, 2)}\n`)

function describeNode(folder: string): Component {
  const pinned = readJson(join('toolchain', 'node', 'package.json')).version
  return {
    ...{ type: 'platform', name: 'node', version: pinned, purl: `pkg:github/nodejs/node@v${pinned}` },
    cpe: `cpe:2.3:a:nodejs:node.js:${pinned}:*:*:*:*:*:*:*`,
    ...describeFiles(folder, ['/usr/local/bin/node']),
  }
}

/** Returns one component for each Debian package of the shared libraries. */
function describeLibraries(folder: string): readonly Component[] {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).flatMap((file) =>
    /\.so\.\d+$/.test(file) ? [`/${file}`] : [],
  )
  const byPackage = Map.groupBy(files.toSorted(), findDebianPackage)
  return [...byPackage].map(([name, paths]) => {
    const status = readStatus(name)
    const [, installed = ''] = /^Version: (.+)$/m.exec(status) ?? []
    const [, architecture = ''] = /^Architecture: (.+)$/m.exec(status) ?? []
    const [plain = ''] = name.split(':')
    return {
      ...{ type: 'library', name: plain, version: installed },
      purl: `pkg:deb/debian/${encodeURIComponent(plain)}@${encodeURIComponent(installed)}?arch=${architecture}`,
      ...describeFiles(folder, paths),
    }
  })
}

/** Since Debian merged /lib into /usr/lib, the database of packages contains either path of a library. */
function findDebianPackage(file: string): string {
  const { stdout, error } = spawnSync('dpkg-query', ['--search', file, `/usr${file}`], { encoding: 'utf8' })
  const [, name] = /^(\S+): /m.exec(stdout ?? '') ?? []
  if (name === undefined) fail(`dpkg-query finds no package of ${file}: ${error?.message ?? 'unknown file'}`)
  return name
}

function readStatus(name: string): string {
  const { status, stdout, stderr } = spawnSync('dpkg-query', ['--status', name], { encoding: 'utf8' })
  if (status !== 0) fail(`dpkg-query --status ${name}: ${stderr}`)
  return stdout
}

/** Returns the hash of one file, and the paths of all files. */
function describeFiles(folder: string, paths: readonly string[]): object {
  const [first = ''] = paths
  const content = createHash('sha256')
    .update(readFileSync(join(folder, first)))
    .digest('hex')
  return {
    ...(paths.length === 1 ? { hashes: [{ alg: 'SHA-256', content }] } : {}),
    evidence: { occurrences: paths.map((location) => ({ location })) },
  }
}

/** Returns the npm packages. A package in several folders is one component. */
function describePackages(): readonly Component[] {
  const byPurl = Map.groupBy(
    findProductionPackages(SOURCES),
    ({ name, version }) => `pkg:npm/${name.replace('@', '%40')}@${version}`,
  )
  return [...byPurl].flatMap(([purl, [first, ...others]]) => {
    if (first === undefined) return []
    const [algorithm = '', hash = ''] = first.integrity.split('-')
    return [
      {
        ...{ type: 'library', name: first.name, version: first.version, purl },
        ...(first.license === undefined ? {} : { licenses: [{ expression: first.license }] }),
        hashes: [
          {
            alg: algorithm.replace('sha', 'SHA-'),
            content: Buffer.from(hash, 'base64').toString('hex'),
          },
        ],
        evidence: { occurrences: [first, ...others].map(({ path }) => ({ location: `/app/${path}` })) },
      },
    ]
  })
}

function readJson(path: string): { readonly version: string } {
  return JSON.parse(readFileSync(join(SOURCES, path), 'utf8'))
}

function fail(text: string): never {
  process.stderr.write(`write-sbom: ${text}\n`)
  process.exit(1)
}
