import type { CorsRule } from '../policy-engine/load/policy-route.ts'

export function describeCorsList(list: readonly string[] | undefined): string {
  if (list === undefined) return 'all'
  return list.length === 0 ? 'none' : list.join(', ')
}

/** Describes a rule in one line, e.g. `origins: https://app.example; methods: GET`. */
export function describeCors({ origins, methods, headers }: CorsRule): string {
  const parts = { origins, methods, headers }
  return Object.entries(parts)
    .flatMap(([key, list]) => (list === undefined ? [] : [`${key}: ${describeCorsList(list)}`]))
    .join('; ')
}
