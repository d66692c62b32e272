import { connect } from 'node:tls'
import type { Examination, Report } from './checks.ts'
import type { HttpResponse } from './http-client.ts'

const DAY_MS = 86_400_000
const SOON_DAYS = 14
const TIMEOUT_MS = 10_000
const LOOPBACK = /^(?:127\.\d+\.\d+\.\d+|\[::1\]|localhost)$/

/**
 * Checks the connection to the gateway, before the checks of responses. Tokens require TLS (RFC 6750 section 5.2).
 * @returns true when the gateway responds.
 */
export async function checkTransport(examination: Examination): Promise<boolean> {
  const { baseUrl, client, report } = examination
  const { protocol, hostname, port } = new URL(baseUrl)
  const response = await client.send(`${baseUrl}/`)
  if ('failed' in response) {
    report.fault('reachable', baseUrl, response.failed, 'start the gateway, or use its public URL')
    return false
  }
  if (response.status >= 300 && response.status < 400)
    report.fault(
      'reachable',
      baseUrl,
      `the base URL redirects to ${response.header('location') ?? 'nowhere'}`,
      'clients use this URL unchanged: set baseUrl to the final URL, and give clients the final URL',
    )
  else report.ok('reachable', baseUrl, `responds with ${response.status}`)

  if (protocol === 'http:') {
    if (LOOPBACK.test(hostname)) report.ok('transport', baseUrl, 'plain http, on this machine only')
    else
      report.fault(
        'transport',
        baseUrl,
        'plain http: tokens are readable on the network path',
        'serve https (`tls` in gateway.yaml, or a proxy in front of the gateway) and set baseUrl to the https URL',
      )
    return true
  }
  await checkCertificate(examination)
  if (port === '') await checkPlainHttp(examination, `http://${hostname}/`)
  else report.ok('transport', baseUrl, 'https uses a separate port, so there was no plain http URL to check')
  return true
}

async function checkPlainHttp({ client, report }: Examination, url: string): Promise<void> {
  const response = await client.send(url)
  if ('failed' in response) return report.ok('transport', url, `no plain http: ${response.failed}`)
  const location = response.header('location') ?? ''
  if (response.status >= 301 && response.status <= 308 && location.startsWith('https://'))
    return report.ok('transport', url, `${response.status} to ${location}`)
  report.fault(
    'transport',
    url,
    `the response to plain http is ${response.status}`,
    'redirect plain http to https (308), or close the port: plain http exposes tokens',
  )
}

async function checkCertificate({ baseUrl, report, nowMs, authority }: Examination): Promise<void> {
  const { hostname, port } = new URL(baseUrl)
  const host = hostname.replace(/^\[|\]$/g, '')
  const until = await new Promise<number | undefined>((resolve) => {
    const socket = connect({
      host,
      port: port === '' ? 443 : Number(port),
      timeout: TIMEOUT_MS,
      ...(/^[\d.]+$|:/.test(host) ? {} : { servername: host }),
      ...(authority === undefined ? {} : { ca: authority }),
    })
    const done = (value: number | undefined): void => {
      socket.destroy()
      resolve(value)
    }
    socket.once('secureConnect', () => done(Date.parse(socket.getPeerCertificate().valid_to)))
    socket.once('error', () => done(undefined))
    socket.once('timeout', () => done(undefined))
  })
  // The previous request succeeded, so a failure of this connection is temporary. The doctor does not report such a
  // failure.
  if (until === undefined || Number.isNaN(until)) return
  const days = Math.floor((until - nowMs()) / DAY_MS)
  if (days < SOON_DAYS)
    report.warn(
      'certificate',
      baseUrl,
      `the certificate expires in ${days} days`,
      'renew the certificate; the gateway loads the new certificate without a restart',
    )
  else report.ok('certificate', baseUrl, `valid for ${days} days`)
}

/** Maximum clock difference: half of the difference that the gateway allows for issuers. Milliseconds. */
const APART_MS = 30_000

/** Compares the gateway's clock with the local clock, using the `Date` of a response. RFC 9110 section 6.6.1. */
export function checkClock(
  response: HttpResponse,
  { report, nowMs }: { readonly report: Report; readonly nowMs: () => number },
) {
  const date = Date.parse(response.header('date') ?? '')
  if (Number.isNaN(date))
    return report.warn(
      'clock',
      response.url,
      'responses have no Date header',
      'configure the proxy in front of the gateway to keep the Date header',
    )
  // `Date` has a resolution of one second.
  const apartMs = Math.abs(nowMs() - date)
  if (apartMs > APART_MS)
    return report.fault(
      'clock',
      response.url,
      `the clock of the gateway differs by ${Math.round(apartMs / 1000)} s from the clock of this machine`,
      'synchronize both clocks (NTP): token validation depends on the time',
    )
  report.ok('clock', response.url, `the clocks differ by at most ${APART_MS / 1000} s`)
}
