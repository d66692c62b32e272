import { createExchangeLoad } from '../load/exchange-load.ts'
import { measureRounds } from '../measure-rounds.ts'
import { startStoreSubjects } from '../product/start-store-subjects.ts'
import type { Row } from '../row.ts'

/** The cost of an introspection and of a refresh at the authorization server, for each store. */
export const stores: Row = {
  name: 'stores',
  run: async (bench) => {
    const subjects = await startStoreSubjects(bench)
    const load = createExchangeLoad(new Map(subjects.flatMap(({ exchanges }) => [...exchanges])))
    const [first] = subjects
    return {
      title: 'Introspection and refresh at the authorization server, for each store',
      conditions: {
        load: `${load.name}, ${load.connections} connections, each with its own grant`,
        tokens: 'opaque; each refresh uses the refresh token of the refresh before',
        stores:
          'every store confirms a write after the write is on the disk; the figures include the CPU time of SQLite only',
      },
      measured: await measureRounds({
        ...bench,
        subjects: subjects.flatMap(({ introspection, refresh }) => [introspection, refresh]),
        load,
      }),
      ratios: subjects.slice(1).flatMap(({ introspection, refresh }) =>
        first === undefined
          ? []
          : [
              { of: introspection.name, to: first.introspection.name, goal: undefined },
              { of: refresh.name, to: first.refresh.name, goal: undefined },
            ],
      ),
    }
  },
}
