/** What holds when the files say nothing, in the units that the files are written in. */
export const DEFAULTS = {
  introspectionTimeout: '2s',
  upstreamTimeout: '10s',
  assertionTtl: '60s',
  connectTimeout: '2s',
  idleTimeout: '5m',
  ejection: { failures: 5, for: '30s' },
  tlsMinVersion: 'TLSv1.2',
  drain: { delay: '5s', grace: '20s' },
  tokenCache: { maxEntries: 100_000, maxTtl: '30s', negativeTtl: '5s' },
  limits: { body: '10MiB', headers: '16KiB', target: '8KiB', token: '8KiB', connections: 20_000 },
  overload: {
    heap: { close: 70, refuse: 80 },
    memory: { close: 85, refuse: 92 },
    loopDelay: { close: '500ms', refuse: '1s' },
  },
  websockets: { sessions: 10_000, sessionsPerCaller: 100 },
  logLevel: 'info',
} as const
