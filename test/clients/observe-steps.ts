import { ENDPOINTS } from '../../oauth/endpoints.ts'

/** A step of a client that the gateway logs. */
export type Step =
  | 'challenge'
  | 'resource metadata'
  | 'server metadata'
  | 'registration'
  | 'consent'
  | 'token'
  | 'call'
  | 'refresh'
  | 'rotation'
  | 'revocation'

type Decision = { readonly decision: string; readonly status: number; readonly request: string }

const isServerMetadata = new RegExp(
  `^GET (${ENDPOINTS.authorizationServerMetadata}|${ENDPOINTS.openidConfiguration})`,
)

/** Finds the successful steps in the decision lines of `scopegate dev`. */
export function observeSteps(output: string): readonly Step[] {
  const decisions = readDecisions(output)
  const some = (test: (one: Decision) => boolean): boolean => decisions.some(test)
  const succeeded = (request: string, status = 200) =>
    some((one) => one.request === request && one.status === status)
  const tokens = decisions.filter(
    (one) => one.request === `POST ${ENDPOINTS.token}` && one.status === 200,
  ).length
  const steps: readonly (readonly [Step, boolean])[] = [
    ['challenge', some(({ decision, status }) => decision === 'challenge' && status === 401)],
    [
      'resource metadata',
      some(
        ({ status, request }) =>
          status === 200 && request.startsWith(`GET ${ENDPOINTS.protectedResourceMetadata}`),
      ),
    ],
    ['server metadata', some(({ status, request }) => status === 200 && isServerMetadata.test(request))],
    ['registration', succeeded(`POST ${ENDPOINTS.registration}`, 201)],
    ['consent', some(({ status, request }) => status === 303 && /^POST \S+\/consent$/.test(request))],
    ['token', tokens > 0],
    ['call', some(({ decision, status }) => decision === 'allow' && status === 200)],
    ['refresh', tokens > 1],
    ['rotation', tokens > 2],
    ['revocation', succeeded(`POST ${ENDPOINTS.revocation}`)],
  ]
  return steps.flatMap(([step, passed]) => (passed ? [step] : []))
}

function readDecisions(output: string): readonly Decision[] {
  return [...output.matchAll(/^\d\d:\d\d:\d\d {2}(\S+) +(\d{3}) {2}([A-Z]+ \S+)/gm)].map(
    ([, decision = '', status, request = '']) => ({ decision, status: Number(status), request }),
  )
}
