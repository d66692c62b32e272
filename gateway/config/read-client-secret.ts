import { ConfigError } from '../../platform/diagnostics/config-error.ts'
import { diagnostic, wholeFile } from '../../platform/diagnostics/diagnostic.ts'
import { displayPath } from '../../platform/diagnostics/display-path.ts'
import { readTextFile } from '../../platform/diagnostics/yaml/read-text-file.ts'
import type { IssuerEntry } from './issuer-schema.ts'

/**
 * Reads the client secrets for all issuers with introspection.
 * @returns the secrets by issuer.
 * @throws {ConfigError} C302 for the first secret that is missing.
 */
export function readClientSecrets(issuers: readonly IssuerEntry[]): ReadonlyMap<string, string> {
  return new Map(
    issuers.flatMap(({ issuer, introspection }, index) =>
      introspection === undefined
        ? []
        : [[issuer, readClientSecret(introspection.clientSecretFile, index)] as const],
    ),
  )
}

/**
 * Reads a client secret and trims white space.
 * @throws {ConfigError} C302 if the file cannot be read or is empty.
 */
function readClientSecret(file: string, index: number): string {
  const shownAs = displayPath(file)
  const read = readTextFile(file, { shownAs, letter: 'C' })
  const secret = 'problem' in read ? '' : read.text.trim()
  if (secret !== '') return secret
  const why = 'problem' in read ? read.problem.message : 'the file is empty'
  throw new ConfigError([
    diagnostic('C302', `the client secret of the gateway is not usable: ${why}`, wholeFile(shownAs), {
      hint: `write the client_secret from the authorization server to the file in issuers[${index}].introspection.clientSecretFile`,
    }),
  ])
}
