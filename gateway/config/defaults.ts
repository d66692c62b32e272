import { DRAIN_DEFAULTS } from '../../platform/config/drain-schema.ts'

/** Default values of the configuration, as text in the notation of the files, e.g. `2s`. */
export const DEFAULTS = {
  introspection: { timeout: '2s', maxConcurrent: 64, maxQueue: 1_024 },
  staleIfError: '60s',
  jwt: {
    algorithms: ['ES256', 'RS256', 'PS256', 'EdDSA', 'Ed25519'] as readonly string[],
    type: 'at+jwt',
    refresh: '5m',
    cooldown: '30s',
    maxStale: '12h',
    timeout: '3s',
    clockTolerance: '60s',
  },
  jwtClaims: { scope: ['scope', 'scp'], client: ['client_id', 'azp', 'appid', 'cid'], subject: 'sub' },
  upstreamTimeout: '10s',
  assertionTtl: '60s',
  connectTimeout: '2s',
  idleTimeout: '5m',
  ejection: { failures: 5, for: '5s' },
  healthCheck: { interval: '5s', timeout: '2s', unhealthyAfter: 3, healthyAfter: 2 },
  upstreamConnections: { maxPendingRequests: 0, queueTimeout: '1s' },
  tlsMinVersion: 'TLSv1.2',
  tlsHttp2: false,
  drain: DRAIN_DEFAULTS,
  tokenCache: {
    maxEntries: 100_000,
    maxBytes: '128MiB',
    maxTtl: '30s',
    ttlWithoutPush: '5s',
    negativeTtl: '5s',
    shared: true,
  },
  limits: { body: '10MiB', headers: '16KiB', target: '8KiB', token: '8KiB', connections: 20_000 },
  overload: {
    heap: { close: 70, refuse: 80 },
    memory: { close: 85, refuse: 92 },
    loopDelay: { close: '500ms', refuse: '1s' },
  },
  websockets: { sessions: 10_000, sessionsPerCaller: 100 },
  policyReload: 'watch',
  docsEnabled: true,
} as const
