import type { LocationOf } from '../../platform/config/read-config.ts'
import { type Diagnostic, diagnostic } from '../../platform/diagnostics/diagnostic.ts'
import { suggest } from '../../platform/diagnostics/schema/suggest.ts'
import type { YamlPath } from '../../platform/diagnostics/yaml/yaml-places.ts'
import { ALGORITHMS } from '../tokens/jwt/algorithms.ts'
import { isProtectedAddress } from '../tokens/jwt/is-protected-address.ts'
import { DEFAULTS } from './defaults.ts'
import type { GatewayFile } from './gateway-file.ts'
import type { IssuerEntry } from './issuer-schema.ts'
import { milliseconds } from './to-numbers.ts'

type Problem = readonly [code: string, key: string, message: string, hint: string]

/**
 * Reports C329 to C339: duplicate issuers, issuers without a way to validate tokens, unsafe algorithms or keys, invalid
 * times, and a `caFile` without TLS.
 */
export function findUnusableIssuers(file: GatewayFile, placeOf: LocationOf): readonly Diagnostic[] {
  return file.issuers.flatMap((entry, index) => {
    const before = file.issuers.slice(0, index)
    return [
      ...findDuplicate(entry, before),
      ...findUnaskable(entry),
      ...findUnsafeAlgorithms(entry),
      ...findUnsafeKeys(entry, file.baseUrl),
      ...findBadTimes(entry),
      ...findIdleAuthority(entry),
    ].map(([code, key, message, hint]) =>
      diagnostic(code, `issuers[${index}]${key}: ${message}`, placeOf(['issuers', index, ...toPath(key)]), {
        hint,
      }),
    )
  })
}

/** Converts a key such as `.jwt.algorithms[0]` into the steps of a path. */
function toPath(key: string): YamlPath {
  return [...key.matchAll(/\.(\w+)|\[(\d+)\]/g)].map(([, name, item]) => name ?? Number(item))
}

function findDuplicate({ issuer }: IssuerEntry, before: readonly IssuerEntry[]): readonly Problem[] {
  const first = before.findIndex((other) => other.issuer === issuer)
  if (first === -1) return []
  const hint = 'say all there is to say about an issuer in one place'
  return [['C330', '.issuer', `"${issuer}" is issuers[${first}] already`, hint]]
}

function findUnaskable({ jwt, introspection, revocations }: IssuerEntry): readonly Problem[] {
  if (introspection?.signed === true && jwt === undefined)
    return [
      [
        'C329',
        '.introspection.signed',
        'nothing says where the keys are that its answers are signed with',
        'add jwt, with keys or without: its keys check answers too',
      ],
    ]
  if (jwt === undefined && introspection === undefined)
    return [
      [
        'C331',
        '',
        'nothing says how its tokens are checked',
        'add jwt: {} to verify its JWTs, introspection to ask about its tokens, or both',
      ],
    ]
  if (revocations !== undefined && introspection === undefined)
    return [
      [
        'C332',
        '.revocations',
        'the stream is read with the client of introspection, and there is none',
        'add introspection, or leave revocations out',
      ],
    ]
  return []
}

function findUnsafeAlgorithms({ jwt }: IssuerEntry): readonly Problem[] {
  return (jwt?.algorithms ?? []).flatMap((name, index): readonly Problem[] => {
    if (ALGORITHMS.has(name)) return []
    const key = `.jwt.algorithms[${index}]`
    const some = `take some of ${[...ALGORITHMS.keys()].join(', ')}`
    if (/^none$/i.test(name)) return [['C333', key, 'a token without a signature proves nothing', some]]
    if (/^hs\d+$/i.test(name))
      return [
        [
          'C333',
          key,
          `${name} is symmetric: whoever can check such a token could make one, and a public key could pass for the secret`,
          some,
        ],
      ]
    const close = suggest(name, [...ALGORITHMS.keys()])
    return [
      [
        'C333',
        key,
        `"${name}" is no signature algorithm that the gateway knows`,
        close === undefined ? some : `did you mean ${close}?`,
      ],
    ]
  })
}

function findUnsafeKeys({ issuer, jwt }: IssuerEntry, baseUrl: string): readonly Problem[] {
  if (jwt === undefined) return []
  const { uri, file } = jwt.keys ?? {}
  if (uri !== undefined && file !== undefined)
    return [['C334', '.jwt.keys', 'keys have one place: uri or file', 'leave one of the two out']]
  if (file !== undefined) return []
  if (uri === undefined && issuer === baseUrl)
    return [
      [
        'C335',
        '.jwt.keys',
        'the gateway would ask itself for the keys, before it is ready',
        'give jwt.keys.uri: the address of the key set at the authorization server itself',
      ],
    ]
  if (isProtectedAddress(uri ?? issuer)) return []
  return [
    [
      'C336',
      uri === undefined ? '.issuer' : '.jwt.keys.uri',
      'keys that come over http can be changed on their way, and with them who is let in',
      'use https; http is taken from this machine only. Or mount the keys and give jwt.keys.file',
    ],
  ]
}

/** Reports a `caFile` unless every connection to the issuer uses TLS. */
function findIdleAuthority({
  caFile,
  issuer,
  jwt,
  introspection,
  revocations,
}: IssuerEntry): readonly Problem[] {
  const metadata = jwt === undefined || jwt.keys?.file !== undefined ? undefined : (jwt.keys?.uri ?? issuer)
  const addresses = [metadata, introspection?.endpoint, revocations].filter((one) => one !== undefined)
  if (caFile === undefined || (addresses.length > 0 && addresses.every((one) => /^https:/i.test(one))))
    return []
  const plain = addresses.find((one) => !/^https:/i.test(one))
  const why = plain === undefined ? 'it is never connected to' : `${plain} is not https`
  return [['C339', '.caFile', why, 'write https:// addresses, or leave caFile out']]
}

/** Shortest time between two fetches of keys, regardless of the configuration. */
const SHORTEST_MS = 1_000
const MOST_TOLERANCE_MS = 60_000

function findBadTimes({ jwt }: IssuerEntry): readonly Problem[] {
  if (jwt === undefined) return []
  const times = { ...DEFAULTS.jwt, ...jwt }
  const problems: Problem[] = []
  const tolerance = milliseconds(times.clockTolerance)
  if (tolerance > MOST_TOLERANCE_MS || tolerance % 1_000 !== 0)
    problems.push([
      'C337',
      '.jwt.clockTolerance',
      'an expired token is good for at most 60s more, in whole seconds',
      'leave it out for 60s, and set the clocks',
    ])
  for (const name of ['refresh', 'cooldown'] as const)
    if (milliseconds(times[name]) < SHORTEST_MS)
      problems.push(['C338', `.jwt.${name}`, 'an issuer is asked once a second at most', 'give 1s or more'])
  if (milliseconds(times.maxStale) < milliseconds(times.refresh))
    problems.push([
      'C338',
      '.jwt.maxStale',
      'keys would be too old before they are fetched anew',
      'give it more time than refresh',
    ])
  return problems
}
