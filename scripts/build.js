// Emits dist/: the JavaScript of the npm package and of the image, and the types of `scopegate/fastify`. Node.js does not
// strip types in node_modules. `npm run types` checks the types.
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, readdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..')
const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc')

rmSync(join(ROOT, 'dist'), { recursive: true, force: true })
for (const project of ['tsconfig.build.json', 'tsconfig.types.json']) {
  const { status } = spawnSync(process.execPath, [tsc, '-p', project], { cwd: ROOT, stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}

// The compiler copies no JavaScript. The pages of the gateway embed these scripts.
const scripts = join('gateway', 'pages', 'browser')
cpSync(join(ROOT, scripts), join(ROOT, 'dist', scripts), { recursive: true })

const entry = join('cli', 'main.js')
if (!existsSync(join(ROOT, 'dist', entry))) {
  process.stderr.write(`build: the compiler succeeded but did not write dist/${entry}\n`)
  process.exit(1)
}
const files = readdirSync(join(ROOT, 'dist'), { recursive: true }).filter((file) => file.endsWith('.js'))
process.stdout.write(`build: ${files.length} modules in dist/\n`)
