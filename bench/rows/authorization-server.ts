import { BenchError } from '../bench-error.ts'
import { createExchangeLoad } from '../load/exchange-load.ts'
import { measureRounds } from '../measure-rounds.ts'
import { authorizationServerSubjects, OPERATIONS } from '../product/authorization-server-subjects.ts'
import { startAuthorizationServers, startBareProvider } from '../product/start-authorization-servers.ts'
import type { Row } from '../row.ts'

/** The cost of each operation of the authorization server, for each store and for oidc-provider without Scopegate. */
export const authorizationServer: Row = {
  name: 'authorization-server',
  run: async (bench) => {
    const { servers, missing } = await startAuthorizationServers(bench)
    const peer = await authorizationServerSubjects(await startBareProvider(bench))
    const onStores = await Promise.all(servers.map(authorizationServerSubjects))
    const all = [...onStores, peer]
    const requests = new Set(all.map(({ requestsPerAuthorization }) => requestsPerAuthorization))
    if (requests.size > 1)
      throw new BenchError(
        'ERR_BENCH_SUBJECT',
        `the servers need different numbers of requests for an authorization: ${[...requests].join(', ')}`,
      )
    const load = createExchangeLoad(new Map(all.flatMap(({ exchanges }) => [...exchanges])))
    return {
      title: 'Operations of the authorization server, for each store',
      conditions: {
        load: `${load.name}, ${load.connections} connections, each with its own session and grant`,
        authorization: `one operation is ${[...requests]} HTTP requests: the authorization request, the consent page, its form and the redirect with the code`,
        tokens: 'opaque, with an ID token; each refresh uses the refresh token of the refresh before',
        stores:
          'every store confirms a write after the write is on the disk; the figures include the CPU time of SQLite only',
        ...(missing.length === 0 ? {} : { missing: `${missing.join(', ')}: not installed` }),
      },
      measured: await measureRounds({
        ...bench,
        subjects: OPERATIONS.flatMap((operation) => all.map(({ subjects }) => subjects[operation])),
        load,
      }),
      ratios: OPERATIONS.flatMap((operation) =>
        onStores.map(({ subjects }) => ({
          of: subjects[operation].name,
          to: peer.subjects[operation].name,
          goal: undefined,
        })),
      ),
    }
  },
}
