import t from 'tap'
import { startPostgres } from '../../../fixtures/postgres.ts'
import { runCommand } from '../../../fixtures/run-command.ts'

t.test('scopegate account add stores the account in PostgreSQL, and names the store', async (t) => {
  const server = await startPostgres()
  t.teardown(() => server.remove())
  const env = { SCOPEGATE_STORE__TYPE: 'postgres', SCOPEGATE_POSTGRES__URL: server.url }
  const add = () => runCommand(['account', 'add', 'carol', '--json'], env, 'correct horse of the tests')
  const added = await add()
  t.equal(added.code, 0)
  t.match(added.output, '"kept": "PostgreSQL"')
  t.same(await server.query('select username, origin from scopegate.accounts'), [
    { username: 'carol', origin: 'operator' },
  ])
  const again = await add()
  t.equal(again.code, 1)
  t.match(again.output, 'An account with this username already exists.')
  const unknown = server.url.replace('scopegate@', 'scopegate:s3cret@').replace(/scopegate$/, 'unknown')
  const failed = await runCommand(['account', 'add', 'carol'], { ...env, SCOPEGATE_POSTGRES__URL: unknown })
  t.equal(failed.code, 1)
  t.match(failed.output, 'database "unknown" does not exist')
  t.notMatch(failed.output, 's3cret')
})
