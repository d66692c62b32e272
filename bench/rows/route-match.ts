import { buildRouteTable } from '../../gateway/routes/route-table.ts'
import type { Row } from '../row.ts'

const FEW = 10
const MANY = 10_000
const MATCHES = 500_000
/** Not a divisor of any number of routes here, so that all of them come up, in no order. */
const STRIDE = 7_919
const GOAL = 1.2

/**
 * How long finding the route of a path takes, among few routes and among many: when the same few are asked for, which shows
 * what the others cost by being there, and when all of them are, which no processor's cache holds.
 */
export const routeMatch: Row = {
  name: 'route-match',
  run: async ({ rounds, say }) => {
    const matchers = [matcherOf(FEW, FEW), matcherOf(MANY, FEW), matcherOf(MANY, MANY)]
    for (const match of matchers) match()
    const found = Array.from({ length: rounds }, () => matchers.map((match) => match()))
    const of = (index: number): number[] => found.map((round) => round[index] as number)
    const ratio = (index: number): number[] =>
      found.map((round) => (round[index] as number) / (round[0] as number))
    say(`${rounds} rounds of ${MATCHES} matches each`)
    return {
      title: `Route match: ${FEW} routes against ${MANY}, GET of /api/<family>/<id>`,
      conditions: {},
      measured: [],
      ratios: [],
      figures: [
        { name: `${FEW} routes`, unit: 'ns per match', found: of(0), goal: undefined },
        { name: `${FEW} of ${MANY} routes`, unit: 'ns per match', found: of(1), goal: undefined },
        { name: `all of ${MANY} routes, in no order`, unit: 'ns per match', found: of(2), goal: undefined },
        { name: `${FEW} of ${MANY} / ${FEW}`, unit: 'ratio', found: ratio(1), goal: GOAL },
        { name: `all of ${MANY} / ${FEW}`, unit: 'ratio', found: ratio(2), goal: GOAL },
      ],
    }
  },
}

/** @returns what measures: nanoseconds per match, among `routes` routes, of which `asked` are asked for. */
function matcherOf(routes: number, asked: number): () => number {
  const names = Array.from({ length: routes }, (_, index) => `/api/family-${index}`)
  const table = buildRouteTable(names.map((name) => ({ methods: ['GET'], path: `${name}/{id}` })))
  const paths = Array.from({ length: asked }, (_, index) => `${names[(index * STRIDE) % routes]}/crs_01J8Z3`)
  return () => {
    const startedNs = process.hrtime.bigint()
    for (let match = 0; match < MATCHES; match++) {
      const { kind } = table.match('GET', paths[match % asked] as string)
      if (kind !== 'route') throw new Error(`no route for ${paths[match % asked]}`)
    }
    return Number(process.hrtime.bigint() - startedNs) / MATCHES
  }
}
