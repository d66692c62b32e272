import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { main } from '../../cli/main.ts'
import { aTerminal } from '../fixtures/a-terminal.ts'
import { startScopegate } from '../fixtures/start-scopegate.ts'

async function run(folder: string, ...args: string[]) {
  const terminal = aTerminal({ folder })
  return { code: await main(args, terminal), ...terminal.said }
}

t.test('init writes nothing when one of its files is there already', async (t) => {
  const folder = t.testdir({ policies: { 'courses.policy.yaml': 'mine' } })
  const { code, out, err } = await run(folder, 'init')
  t.equal(code, 1)
  t.equal(out, '')
  t.match(
    err,
    /^scopegate init: nothing was written, because this is there already: .*policies\/courses\.policy\.yaml\n$/,
  )
  t.throws(() => readFileSync(join(folder, 'README.md')))
  t.equal(readFileSync(join(folder, 'policies/courses.policy.yaml'), 'utf8'), 'mine')
  writeFileSync(join(folder, 'file'), '')
  t.match(await run(folder, 'init', 'file'), { code: 1, err: /cannot be written/ })
})

t.test(
  'init gives up where no folder can be made, and says where to go',
  { skip: process.platform === 'linux' ? false : 'there is no /proc on this system' },
  async (t) => {
    t.match(await run(t.testdir(), 'init', '/proc/x'), {
      code: 1,
      out: '',
      err: /^scopegate init: \/proc\/x\/.* cannot be written \(ENOENT.*\)\. Name a folder .*: scopegate init DIR\n$/,
    })
  },
)

t.test('what init writes is valid, tested and laid out', async (t) => {
  const folder = t.testdir({})
  t.match(await run(folder, 'init', 'shop'), { code: 0, out: /README\.md\n$/ })
  const shop = join(folder, 'shop')
  t.match(await run(shop, 'check'), { code: 0, out: /1 policy, 3 routes/ })
  t.match(await run(shop, 'test', '--coverage'), { code: 0, out: 'ok: 4 tests of 1 policy\n' })
  t.match(await run(shop, 'fmt', '--check'), { code: 0, out: '1 laid out already\n' })
  await t.test('and serves', async (t) => {
    const product = await startScopegate(t, { args: ['--config', join(shop, 'config')] })
    t.match(product.output(), `curl ${product.baseUrl}/api/courses\n`, 'P8: a route of these policies')
    t.equal((await fetch(`${product.baseUrl}/api/courses`)).status, 200)
    t.equal((await fetch(`${product.baseUrl}/api/courses/42`)).status, 401)
  })
})
