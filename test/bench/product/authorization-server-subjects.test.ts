import t from 'tap'
import { createCleanup } from '../../../bench/cleanup.ts'
import {
  authorizationServerSubjects,
  OPERATIONS,
} from '../../../bench/product/authorization-server-subjects.ts'
import { startBareProvider } from '../../../bench/product/start-authorization-servers.ts'

t.test('bare oidc-provider performs each operation like the bundled authorization server', async (t) => {
  const cleanup = createCleanup()
  t.teardown(cleanup.run)
  const server = await startBareProvider({ cores: undefined, folder: t.testdir(), cleanup })
  const { subjects, exchanges, requestsPerAuthorization } = await authorizationServerSubjects(server)
  // The authorization request, the consent page, its form, and the redirect with the code.
  t.equal(requestsPerAuthorization, 4)
  const perform = (operation: (typeof OPERATIONS)[number]) =>
    exchanges.get(subjects[operation].target.url)?.(0)
  t.equal(await perform('code exchange'), 'finished', 'no code is prepared')
  await subjects['code exchange'].prepare?.(0.01)
  for (const operation of OPERATIONS) t.equal(await perform(operation), 'right', operation)
  t.equal(await perform('refresh'), 'right', 'a second refresh uses the new refresh token')
  await server.process.stop()
  for (const operation of ['authorization', 'refresh', 'introspection', 'registration'] as const)
    await t.rejects(async () => perform(operation), operation)
})
