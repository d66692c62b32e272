import type { HttpClient } from './http-client.ts'

/** The checks by name. Every finding starts with the name of its check. docs/doctor.md explains every check. */
export const CHECKS = {
  reachable: 'The base URL responds in time, with a response of bounded size and without a redirect.',
  transport:
    'The base URL uses https or a loopback address, and plain http redirects to https or does not respond.',
  certificate: 'The certificate is valid for at least 14 more days.',
  clock:
    'The clocks of the gateway and of this machine differ by at most 30 s: the gateway compares times of tokens and proofs with its clock.',
  'resource-metadata': 'The protected resource metadata is a JSON document of the right kind (RFC 9728).',
  resource:
    '`resource` equals the URL that clients use, byte for byte: otherwise clients discard the document.',
  'path-metadata':
    'No other path returns the metadata of this resource: its `resource` would be wrong for that path.',
  'server-metadata':
    'Both metadata documents of the authorization server are valid and agree (RFC 8414, OpenID Connect).',
  issuer: 'The issuer in its metadata equals the issuer in the resource metadata, byte for byte.',
  pkce: 'Both documents list S256: clients must not continue without it.',
  endpoints: 'Every advertised endpoint gives the expected response for its type.',
  scopes: 'The authorization server offers every scope that the resource requires.',
  cors: 'Pages of other origins may read documents and responses, including the challenge.',
  challenge: 'The response to an invalid token is 401, with a challenge that names the metadata.',
  credentials: 'A token in the URL is rejected.',
} as const satisfies Readonly<Record<string, string>>

export type CheckName = keyof typeof CHECKS

export type Finding = {
  readonly check: CheckName
  readonly level: 'ok' | 'warning' | 'fault'
  readonly where: string
  readonly says: string
  /** The recommended change. Undefined when the level is `ok`. */
  readonly remedy: string | undefined
}

export type Report = {
  readonly findings: readonly Finding[]
  ok(check: CheckName, where: string, says: string): void
  warn(check: CheckName, where: string, says: string, remedy: string): void
  fault(check: CheckName, where: string, says: string, remedy: string): void
}

export type Examination = {
  /** The base URL, without a trailing slash. */
  readonly baseUrl: string
  /** The path of the resource below the base URL. Empty for the whole API. */
  readonly resourcePath: string
  /** A path that requires a token. Undefined: the doctor searches /openapi.json for such a path. */
  readonly protectedPath: string | undefined
  readonly client: HttpClient
  readonly report: Report
  readonly nowMs: () => number
  /** CA certificates that replace the public CA certificates. PEM. */
  readonly authority: string | undefined
}

/** Creates a report. `onFinding` receives each finding immediately. */
export function createReport(onFinding: (finding: Finding) => void = () => undefined): Report {
  const findings: Finding[] = []
  const add = (
    level: Finding['level'],
    check: CheckName,
    { where, says, remedy }: { where: string; says: string; remedy?: string },
  ): void => {
    const finding = Object.freeze({ check, level, where, says: printable(says), remedy })
    findings.push(finding)
    onFinding(finding)
  }
  return {
    findings,
    ok: (check, where, says) => add('ok', check, { where, says }),
    warn: (check, where, says, remedy) => add('warning', check, { where, says, remedy }),
    fault: (check, where, says, remedy) => add('fault', check, { where, says, remedy }),
  }
}

const SHOWN = 300

/** Replaces control characters, and shortens text of an untrusted server to 300 characters. */
function printable(text: string): string {
  const plain = text.replace(/[^\x20-\x7e\u00a0-\u200d\u2010-\u2027\u2030-\ufffd]/g, '?')
  return plain.length > SHOWN ? `${plain.slice(0, SHOWN)} ...` : plain
}
