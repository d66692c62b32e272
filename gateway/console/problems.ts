import { countText } from '../../platform/pages/count-text.ts'
import type { PolicyRoute } from '../../policy-engine/load/policy-route.ts'
import type { CheckKind, GatewayCheck } from '../observability/readiness-check.ts'
import { describeLocation } from '../snapshot/reload/describe-location.ts'
import { RELOAD_FAILURES } from '../snapshot/reload/reload-failure.ts'
import type { ConsoleState } from './console-source.ts'
import { gaugeOf, type History, type Point } from './history.ts'
import { failingSince, recentRoutes } from './route-traffic.ts'
import { GAUGES } from './sample.ts'

/** Something that an operator must correct or observe. */
export type Problem = {
  /** `wrong`: requests fail. `notice`: only some functions are affected. */
  readonly state: 'wrong' | 'notice'
  readonly title: string
  readonly detail: string
  /** Milliseconds since 1970. null: before the console began to observe. */
  readonly sinceMs: number | null
  readonly action: string
  /** Page of the documentation, without `docs/`. */
  readonly doc: string
  /** Page of the console. */
  readonly href: string | null
  /** Position in a policy file. */
  readonly place: string | null
}

type Advice = Pick<Problem, 'action' | 'doc'> & { readonly href?: string }

const OTHER: Advice = { action: 'Read the log of the gateway.', doc: 'management-port.md' }

/** The advice for each kind of check of `/readyz`. */
const ADVICE: Readonly<Record<CheckKind, Advice>> = {
  policies: {
    action: 'Correct the policy file, or restore its last version. The earlier policies stay active.',
    doc: 'runbooks/ScopegatePolicyReloadFailed.md',
    href: '/console/policies',
  },
  policy_source: {
    action: 'Tell the owner of the source. The owner corrects the files of the source.',
    doc: 'runbooks/ScopegatePolicySourceInvalid.md',
    href: '/console/policies',
  },
  issuer_keys: {
    action: 'Check the connection from the gateway to the issuer.',
    doc: 'runbooks/ScopegateJwksRefreshFailed.md',
    href: '/console/issuers',
  },
  introspection: {
    action: 'Check the connection to the issuer, and the client credentials of the gateway.',
    doc: 'connect-an-issuer.md',
    href: '/console/issuers',
  },
  revocation_stream: {
    action:
      'Check the revocation stream. Until it returns, revoked tokens stay valid for tokenCache.ttlWithoutPush.',
    doc: 'runbooks/ScopegateRevocationChannelDown.md',
    href: '/console/issuers',
  },
  redis: {
    action: 'Check Redis and the network. Without Redis, each process counts limits alone.',
    doc: 'runbooks/ScopegateRateLimiterFallback.md',
  },
  secret_files: {
    action: 'Correct the secret file. The earlier secret stays active.',
    doc: 'runbooks/ScopegateSecretFileUnusable.md',
  },
  upstream_credentials: {
    action: 'Check the credentials of the gateway at the upstream.',
    doc: 'authenticate-at-upstreams.md',
    href: '/console/upstreams',
  },
  upstream_target: {
    action: 'Check the upstream. The gateway uses its other addresses.',
    doc: 'runbooks/ScopegateTargetDown.md',
    href: '/console/upstreams',
  },
  workers: {
    action: 'Read the log of the gateway. The supervisor starts crashed workers again.',
    doc: 'runbooks/ScopegateWorkerCrashed.md',
  },
  event_loop: { action: 'Reduce the load, or add gateways.', doc: 'runbooks/ScopegateEventLoopLag.md' },
  accepting: OTHER,
  token_status: OTHER,
}

/** Maximum number of failing routes in the list. */
const SHOWN_ROUTES = 10

/** Finds the problems of the gateway, those with failing requests first. */
export function findProblems(
  history: History,
  state: Pick<ConsoleState, 'policies'>,
  routes: readonly PolicyRoute[],
): readonly Problem[] {
  const problems = [
    ...history.checks
      .filter(({ ok, degraded }) => !ok || degraded === true)
      .map((check) => ofCheck(check, history, state)),
    ...ofOverload(history),
    ...ofUpstreams(history),
    ...ofRoutes(history, routes),
  ]
  return problems.toSorted((a, b) => Number(b.state === 'wrong') - Number(a.state === 'wrong'))
}

function ofCheck(
  { kind, name, ok, detail = 'failed', source }: GatewayCheck,
  history: History,
  { policies }: Pick<ConsoleState, 'policies'>,
): Problem {
  const { action, doc, href } = ADVICE[kind]
  const state = policies.states.find((one) => one.name === source)
  const failure = kind === 'policies' ? policies.failure : undefined
  const errors = kind === 'policies' ? failure?.problems : state?.errors
  const first = errors?.find(({ severity }) => severity === 'error')
  return {
    state: !ok || state?.state === 'unavailable' ? 'wrong' : 'notice',
    title: name,
    detail,
    sinceMs: failure?.sinceMs ?? history.unhealthySinceMs(name) ?? null,
    action: failure?.unchecked === undefined ? action : RELOAD_FAILURES[failure.unchecked].remedy,
    doc,
    href: href ?? null,
    place: first === undefined ? null : describeLocation(first.location),
  }
}

function ofOverload({ gauges, points }: History): readonly Problem[] {
  const level = gaugeOf(gauges, GAUGES.overloadLevel) ?? 0
  if (level === 0) return []
  return [
    {
      state: level > 1 ? 'wrong' : 'notice',
      title: 'overload',
      detail:
        level > 1 ? 'The gateway rejects requests.' : 'The gateway closes connections after each response.',
      sinceMs: points.at(-1)?.startMs ?? null,
      action: 'Reduce the load, add gateways, or give the gateway more memory.',
      doc: 'runbooks/ScopegateOverloaded.md',
      href: null,
      place: null,
    },
  ]
}

function ofUpstreams(history: History): readonly Problem[] {
  const up = history.gauges.find(({ name }) => name === GAUGES.upstreamUp)?.values ?? []
  return up
    .filter(({ value }) => value === 0)
    .map(({ labels }): Problem => {
      const name = String(labels['upstream'])
      return {
        state: 'wrong',
        title: `upstream ${name}`,
        detail: `All addresses are ejected because of failures${describeErrors(history.points, name)}. Requests get 503.`,
        sinceMs: failingSince(history.points, ({ upstreams }) => {
          const counts = upstreams.get(name)
          return (
            counts && {
              all: counts.responses + sum(counts.errors),
              failed: sum(counts.errors) + counts.failed,
            }
          )
        }),
        action: 'Check the upstream and the network. The gateway tries the upstream again on its own.',
        doc: 'runbooks/ScopegateUpstreamDown.md',
        href: '/console/upstreams',
        place: null,
      }
    })
}

/** Describes the errors of an upstream in the last minute, such as ` (connect 12)`. */
function describeErrors(points: readonly Point[], name: string): string {
  const errors: Record<string, number> = {}
  for (const { upstreams } of points.slice(-6))
    for (const [reason, count] of Object.entries(upstreams.get(name)?.errors ?? {}))
      errors[reason] = (errors[reason] ?? 0) + count
  const parts = Object.entries(errors).map(([reason, count]) => `${reason} ${count}`)
  return parts.length === 0 ? '' : ` (${parts.join(', ')})`
}

function sum(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((total, count) => total + count, 0)
}

function ofRoutes(history: History, routes: readonly PolicyRoute[]): readonly Problem[] {
  return [...recentRoutes(history)]
    .filter(([, { failed }]) => failed > 0)
    .toSorted(([, a], [, b]) => b.failed - a.failed)
    .slice(0, SHOWN_ROUTES)
    .map(([name, { failed, requests }]): Problem => {
      const source = routes.find((route) => route.name === name)?.source
      return {
        state: 'wrong',
        title: name === '-' ? 'requests without a route' : `route ${name}`,
        detail: `${failed} of ${countText(requests, 'request')} in the last minute failed with a status of 500 or higher.`,
        sinceMs: failingSince(history.points, ({ routes }) => {
          const counts = routes.get(name)
          return counts && { all: counts.requests, failed: counts.failed }
        }),
        action: 'Look at the upstream of the route, and at the log lines of this route.',
        doc: 'runbooks/ScopegateErrorRateHigh.md',
        href: source === undefined ? null : `/console/route?${new URLSearchParams({ name })}`,
        place: source === undefined ? null : `${source.file}:${source.line}:${source.column}`,
      }
    })
}
