import { displayText } from '../../platform/pages/html.ts'
import type { SignInProvider } from '../config.ts'
import type { ProviderIdentity } from './provider-client.ts'
import { ProviderError } from './provider-error.ts'

/** Data of a person, from the claims of a provider. Every value has a bounded length. */
export type ProviderProfile = {
  readonly name: string
  readonly email: string | undefined
  /** The provider verified the address. Its claim `email_verified` does not apply to an address of another claim. */
  readonly emailVerified: boolean
  readonly groups: readonly string[] | undefined
  readonly roles: readonly string[] | undefined
}

type Claims = Readonly<Record<string, unknown>>

/** Matches an address with printable ASCII characters. RFC 5321 section 4.5.3.1 limits the length. */
const EMAIL = /^[!-?A-~]{1,64}@([A-Za-z0-9-]{1,63}\.)*[A-Za-z0-9-]{1,63}$/
const MAX_NAMES = 500
const NAME = /^[^\p{Cc}\p{Cf}\p{Cs}]{1,256}$/u

/**
 * Maps the claims of a person, and applies the rules of `admit`.
 * @throws {ProviderError} `not_admitted`, with the rule in `detail`.
 */
export function admitPerson(
  provider: SignInProvider,
  { claims, subject }: Pick<ProviderIdentity, 'claims' | 'subject'>,
): ProviderProfile {
  const { claims: mapping, admit } = provider
  const email = emailOf(claims, mapping.email)
  const groups = mapping.groups === undefined ? undefined : namesOf(readClaim(claims, mapping.groups))
  const roles = mapping.roles === undefined ? undefined : namesOf(readClaim(claims, mapping.roles))

  const domain = email?.slice(email.lastIndexOf('@') + 1).toLowerCase()
  if (admit.emailDomains.length > 0 && !admit.emailDomains.some((allowed) => allowed === domain))
    throw new ProviderError('not_admitted', 'admit.emailDomains')
  if (admit.groups.length > 0 && !admit.groups.some((group) => groups?.includes(group) === true))
    throw new ProviderError(
      'not_admitted',
      hasOverage(claims, mapping.groups) ? 'admit.groups: the provider left out the groups' : 'admit.groups',
    )
  for (const [claim, allowed] of admit.claims) {
    const values = valuesOf(readClaim(claims, claim))
    if (!allowed.some((value) => values.includes(value)))
      throw new ProviderError('not_admitted', `admit.claims.${claim}`)
  }
  const name =
    displayText(textOf(readClaim(claims, mapping.name))) ??
    displayText(textOf(claims['preferred_username'])) ??
    email ??
    displayText(subject) ??
    provider.title
  const emailVerified = email !== undefined && mapping.email === 'email'
  return { name, email, emailVerified, groups, roles }
}

/**
 * Returns the e-mail address. The claim `email` counts only with `email_verified: true`, because anybody can enter the
 * address of another person at some providers. If the operator maps another claim, the operator trusts this claim.
 */
function emailOf(claims: Claims, claim: string): string | undefined {
  if (claim === 'email' && claims['email_verified'] !== true) return undefined
  const email = textOf(readClaim(claims, claim))
  return email !== undefined && EMAIL.test(email) ? email : undefined
}

/** Reads a claim by its name, or by a path such as `realm_access.roles`. Names of claims can contain dots. */
function readClaim(claims: Claims, path: string): unknown {
  if (Object.hasOwn(claims, path)) return claims[path]
  let value: unknown = claims
  for (const part of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined
    value = (value as Claims)[part]
  }
  return value
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** Returns the values of a claim as text, for the rules of `admit.claims`. */
function valuesOf(value: unknown): readonly string[] {
  const values = Array.isArray(value) ? value : [value]
  return values.flatMap((one) =>
    typeof one === 'string' || typeof one === 'boolean' || typeof one === 'number' ? [String(one)] : [],
  )
}

/** Returns the usable names of groups or roles. */
function namesOf(value: unknown): readonly string[] {
  const values: readonly unknown[] = Array.isArray(value) ? value : [value]
  const names = values.filter((name) => typeof name === 'string').filter((name) => NAME.test(name))
  return [...new Set(names)].slice(0, MAX_NAMES)
}

/** Returns whether Entra ID replaced the groups by a link, because the person has more groups than a token can hold. */
function hasOverage(claims: Claims, groups: string | undefined): boolean {
  const sources = claims['_claim_names']
  const isLinked =
    typeof sources === 'object' && sources !== null && Object.hasOwn(sources, groups ?? 'groups')
  return isLinked || claims['hasgroups'] === true
}
