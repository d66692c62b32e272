import { ConfigError } from '../../platform/diagnostics/config-error.ts'
import { diagnostic, wholeFile } from '../../platform/diagnostics/diagnostic.ts'
import { displayPath } from '../../platform/diagnostics/display-path.ts'
import { readTextFile } from '../../platform/diagnostics/yaml/read-text-file.ts'
import type { GatewayFile } from './gateway-file.ts'

/** Characters: whoever could guess it could make nonces of the future. */
const SHORTEST = 32

/**
 * Reads the secret that DPoP nonces are made with, without the space around it. Every worker and replica needs the same
 * one, so none is made up.
 * @returns undefined when no nonce is required.
 * @throws {ConfigError} C350 when there is none of use.
 */
export function readNonceSecret(dpop: GatewayFile['dpop']): string | undefined {
  if (dpop?.nonce !== 'required') return undefined
  if (dpop.nonceSecretFile === undefined) throw fail('config/gateway.yaml', 'dpop.nonceSecretFile is missing')
  const shownAs = displayPath(dpop.nonceSecretFile)
  const read = readTextFile(dpop.nonceSecretFile, { shownAs, letter: 'C' })
  if ('problem' in read) throw fail(shownAs, read.problem.message)
  const secret = read.text.trim()
  if (secret.length < SHORTEST) throw fail(shownAs, `it has fewer than ${SHORTEST} characters`)
  return secret
}

function fail(shownAs: string, why: string): ConfigError {
  return new ConfigError([
    diagnostic('C350', `there is no secret to make DPoP nonces with: ${why}`, wholeFile(shownAs), {
      hint: 'name a file with the same secret for every replica in dpop.nonceSecretFile: openssl rand -base64 32',
    }),
  ])
}
