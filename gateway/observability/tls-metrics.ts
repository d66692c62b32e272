import { Counter, Gauge, type Registry } from 'prom-client'
import type { HandshakeFailure, Http2Failure } from '../server/tls/tls-server.ts'

export type TlsMeter = {
  readonly handshakeFailed: (failure: HandshakeFailure) => void
  /** Called when the gateway closes an HTTP/2 connection because of its frames. */
  readonly http2ConnectionFailed: (failure: Http2Failure) => void
  readonly reloaded: (result: 'success' | 'failure') => void
}

export function createTlsMetrics(
  registry: Registry,
  certificate: () => { readonly expiresAtMs: number },
): TlsMeter {
  const registers = [registry]
  new Gauge({
    name: 'scopegate_tls_certificate_expiry_seconds',
    help: 'Expiry time of the active certificate in seconds since 1970.',
    registers,
    collect() {
      this.set(Math.floor(certificate().expiresAtMs / 1_000))
    },
  })
  const reloads = new Counter({
    name: 'scopegate_tls_certificate_reloads_total',
    help: 'Certificate reloads, by result.',
    labelNames: ['result'],
    registers,
  })
  for (const result of ['success', 'failure']) reloads.inc({ result }, 0)
  const failures = new Counter({
    name: 'scopegate_tls_handshake_failures_total',
    help: 'Failed TLS handshakes, by reason.',
    labelNames: ['reason'],
    registers,
  })
  const http2Failures = new Counter({
    name: 'scopegate_http2_connection_failures_total',
    help: 'HTTP/2 connections that the gateway closed because of their frames, by reason.',
    labelNames: ['reason'],
    registers,
  })
  return {
    http2ConnectionFailed: (reason) => http2Failures.inc({ reason }),
    handshakeFailed: (reason) => failures.inc({ reason }),
    reloaded: (result) => reloads.inc({ result }),
  }
}

/** Metrics of the client certificates for upstreams. */
export type ClientCertificateMeter = {
  readonly reloaded: (upstream: string, result: 'success' | 'failure') => void
  /** Each scrape calls `expiresAtMs`, which returns the expiry of the active certificate. */
  readonly follow: (upstream: string, expiresAtMs: () => number) => void
}

export function createClientCertificateMeter(registry: Registry): ClientCertificateMeter {
  const registers = [registry]
  const expiries = new Map<string, () => number>()
  new Gauge({
    name: 'scopegate_upstream_certificate_expiry_seconds',
    help: 'Expiry time of the active client certificate for an upstream in seconds since 1970.',
    labelNames: ['upstream'],
    registers,
    collect() {
      for (const [upstream, expiresAtMs] of expiries)
        this.set({ upstream }, Math.floor(expiresAtMs() / 1_000))
    },
  })
  const reloads = new Counter({
    name: 'scopegate_upstream_certificate_reloads_total',
    help: 'Reloads of client certificates for upstreams, by result.',
    labelNames: ['upstream', 'result'],
    registers,
  })
  return {
    reloaded: (upstream, result) => reloads.inc({ upstream, result }),
    follow(upstream, expiresAtMs) {
      expiries.set(upstream, expiresAtMs)
      for (const result of ['success', 'failure']) reloads.inc({ upstream, result }, 0)
    },
  }
}
