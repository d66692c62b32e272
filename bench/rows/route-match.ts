import { buildRouteTable } from '../../policy-engine/match/route-table.ts'
import type { Row } from '../row.ts'

const FEW = 10
const MANY = 10_000
const MATCHES = 500_000
/**
 * Distance between one requested route and the next, in routes. The number of routes is never a multiple of the
 * distance, so that the load requests every route, in mixed order.
 */
const STRIDE = 7_919
const GOAL = 1.2

/**
 * The time to find the route of a path, with 10 routes and with 10,000 routes. If the load requests only 10 of 10,000
 * routes, the difference is the cost of the unused routes. If the load requests all 10,000 routes, the table does not
 * fit into the processor caches. A Map with 10,000 keys shows the cost of memory access alone.
 */
export const routeMatch: Row = {
  name: 'route-match',
  run: async ({ rounds, printProgress }) => {
    const tables = [tableOf(FEW, FEW), tableOf(MANY, FEW), tableOf(MANY, MANY)]
    const measures = [...tables, mapOf(FEW), mapOf(MANY)]
    for (const measure of measures) measure()
    const found = Array.from({ length: rounds }, () => measures.map((measure) => measure()))
    const of = (index: number): number[] => found.map((round) => round[index] as number)
    const ratio = (index: number, to = 0): number[] =>
      found.map((round) => (round[index] as number) / (round[to] as number))
    printProgress(`${rounds} rounds of ${MATCHES} matches each`)
    return {
      title: `Route match with ${FEW} routes compared with ${MANY} routes, GET /api/<family>/<id>`,
      conditions: {},
      measured: [],
      ratios: [],
      figures: [
        { name: `${FEW} routes`, unit: 'ns per match', found: of(0), goal: undefined },
        { name: `${FEW} of ${MANY} routes`, unit: 'ns per match', found: of(1), goal: undefined },
        {
          name: `all of ${MANY} routes, in random order`,
          unit: 'ns per match',
          found: of(2),
          goal: undefined,
        },
        { name: `${FEW} of ${MANY} / ${FEW}`, unit: 'ratio', found: ratio(1), goal: GOAL },
        { name: `all of ${MANY} / ${FEW}`, unit: 'ratio', found: ratio(2), goal: GOAL },
        {
          name: `a Map with ${MANY} keys, in random order / ${FEW}`,
          unit: 'ratio',
          found: ratio(4, 3),
          goal: undefined,
        },
      ],
    }
  },
}

type Measure = () => number

/** The load requests `asked` of the `routes` routes. */
function tableOf(routes: number, asked: number): Measure {
  const names = namesOf(routes)
  const table = buildRouteTable(names.map((name) => ({ methods: ['GET'], path: `${name}/{id}` })))
  return measureOf(
    asked,
    inNoOrder(names, '/crs_01J8Z3'),
    (path) => table.match('GET', path).kind === 'route',
  )
}

function mapOf(keys: number): Measure {
  const names = namesOf(keys)
  const map = new Map(names.map((name) => [name, { kind: 'route' }]))
  return measureOf(keys, inNoOrder(names, '?'), (path) => map.get(path.slice(0, -1))?.kind === 'route')
}

function namesOf(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `/api/family-${index}`)
}

function inNoOrder(names: readonly string[], rest: string): readonly string[] {
  return names.map((_, index) => `${names[(index * STRIDE) % names.length]}${rest}`)
}

/** Returns a function that measures the CPU time per match, in nanoseconds. */
function measureOf(asked: number, paths: readonly string[], isFound: (path: string) => boolean): Measure {
  return () => {
    const before = process.cpuUsage()
    for (let match = 0; match < MATCHES; match++) {
      const path = paths[match % asked] as string
      if (!isFound(path)) throw new Error(`no route for ${path}`)
    }
    const { user, system } = process.cpuUsage(before)
    return ((user + system) * 1_000) / MATCHES
  }
}
