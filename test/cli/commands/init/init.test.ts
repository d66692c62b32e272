import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { main } from '../../../../cli/main.ts'
import { aTerminal } from '../../../fixtures/a-terminal.ts'
import { startScopegate } from '../../../fixtures/start-scopegate.ts'

async function run(folder: string, ...args: string[]) {
  const terminal = aTerminal({ folder })
  return { code: await main(args, terminal), ...terminal.said }
}

t.test('init writes no file when one of its files exists', async (t) => {
  const folder = t.testdir({ policies: { 'courses.policy.yaml': 'mine' } })
  const { code, out, err } = await run(folder, 'init')
  t.equal(code, 1)
  t.equal(out, '')
  t.match(
    err,
    /^scopegate init: nothing was written, because these files exist: .*policies\/courses\.policy\.yaml\n$/,
  )
  t.throws(() => readFileSync(join(folder, 'README.md')))
  t.equal(readFileSync(join(folder, 'policies/courses.policy.yaml'), 'utf8'), 'mine')
})

t.test('init fails where it cannot create a folder, and suggests another folder', async (t) => {
  t.match(await run(t.testdir({ file: '' }), 'init', 'file/x'), {
    code: 1,
    out: '',
    err: /^scopegate init: .*file\/x\/.* cannot be written \(ENOTDIR.*\)\. Choose a folder .*: scopegate init DIR\n$/,
  })
})

t.test('init writes valid, tested and formatted files', async (t) => {
  const folder = t.testdir({})
  t.match(await run(folder, 'init', 'shop'), { code: 0, out: /README\.md\n$/ })
  const shop = join(folder, 'shop')
  t.match(await run(shop, 'check'), { code: 0, out: /1 policy, 3 routes/ })
  t.match(await run(shop, 'test', '--coverage'), { code: 0, out: 'ok: 4 tests of 1 policy\n' })
  t.match(await run(shop, 'fmt', '--check'), { code: 0, out: '1 already formatted\n' })
  await t.test('the comments in the written files name only files of the new folder', async (t) => {
    const files = readdirSync(shop, { recursive: true, encoding: 'utf8' })
    for (const file of files.filter((name) => /\.(yaml|md)$/.test(name))) {
      const text = readFileSync(join(shop, file), 'utf8')
      t.notMatch(text, /^ *#\.$/m, `${file}: a comment without words`)
      for (const [named] of text.matchAll(/(?<![\w/-])[\w-]+(?:\/[\w-]+)*\.(?:md|json)\b/g))
        t.ok(
          files.some((name) => name.endsWith(named)),
          `${file}: ${named}`,
        )
    }
    const policy = readFileSync(join(shop, 'policies/courses.policy.yaml'), 'utf8')
    t.match(policy, /^# yaml-language-server: \$schema=\.\.\/schemas\/policy\.v1\.json\n/)
    const schema = JSON.parse(readFileSync(join(shop, 'schemas/policy.v1.json'), 'utf8'))
    t.equal(schema.title, 'Scopegate Policy')
  })
  await t.test('keys with a default may be omitted from gateway.yaml', async (t) => {
    const file = join(shop, 'config/gateway.yaml')
    const whole = readFileSync(file, 'utf8')
    const short = whole.replace(/^(name|listen|management|policies|scopes|upstreams):.*\n/gm, '')
    t.equal(short.split('\n').length, whole.split('\n').length - 6)
    writeFileSync(file, short)
    t.match(await run(shop, 'check'), { code: 0, out: /1 policy, 3 routes/ })
  })
  await t.test('the new folder serves requests', async (t) => {
    const product = await startScopegate(t, { args: ['--config', join(shop, 'config')] })
    t.match(product.output(), `curl ${product.baseUrl}/api/courses\n`, 'P8: a route of these policies')
    t.equal((await fetch(`${product.baseUrl}/api/courses`)).status, 200)
    t.equal((await fetch(`${product.baseUrl}/api/courses/42`)).status, 401)
  })
})
