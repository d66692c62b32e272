import { ConfigError } from '../../platform/diagnostics/config-error.ts'
import { diagnostic, wholeFile } from '../../platform/diagnostics/diagnostic.ts'
import { displayPath } from '../../platform/diagnostics/display-path.ts'
import { readTextFile } from '../../platform/diagnostics/yaml/read-text-file.ts'
import type { GatewayFile } from './gateway-file.ts'

/** Minimum length of the secret in characters. A guessed secret would allow nonces to be created in advance. */
const SHORTEST = 32

/**
 * Reads the secret for DPoP nonces and trims white space. Every worker and replica needs the same secret, so the
 * gateway does not generate one.
 * @returns `undefined` if nonces are not required.
 * @throws {ConfigError} C350 if the secret is missing or too short.
 */
export function readNonceSecret(dpop: GatewayFile['dpop']): string | undefined {
  if (dpop?.nonce !== 'required') return undefined
  if (dpop.nonceSecretFile === undefined) throw fail('config/gateway.yaml', 'dpop.nonceSecretFile is missing')
  const shownAs = displayPath(dpop.nonceSecretFile)
  const read = readTextFile(dpop.nonceSecretFile, { shownAs, letter: 'C' })
  if ('problem' in read) throw fail(shownAs, read.problem.message)
  const secret = read.text.trim()
  if (secret.length < SHORTEST) throw fail(shownAs, `it must have at least ${SHORTEST} characters`)
  return secret
}

function fail(shownAs: string, why: string): ConfigError {
  return new ConfigError([
    diagnostic('C350', `the secret for DPoP nonces is not usable: ${why}`, wholeFile(shownAs), {
      hint: 'set dpop.nonceSecretFile to a file with the same secret for every replica, for example from openssl rand -base64 32',
    }),
  ])
}
