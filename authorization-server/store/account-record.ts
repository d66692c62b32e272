import { isRecord } from '../../platform/diagnostics/record.ts'
import type { StoredAccount } from './store.ts'

/** An account in the format of every store. Null: absent. */
export type AccountRecord = {
  readonly id: string
  readonly username: string
  readonly name: string
  readonly email: string | null
  readonly password_hash: string | null
  readonly origin: string
  readonly created_at: number
  readonly identity_issuer: string | null
  readonly identity_subject: string | null
  readonly disabled_at: number | null
  /** JSON: the name of the provider, the groups, the roles and the verification of the e-mail address. */
  readonly claims: string | null
  readonly second_factor: string | null
}

export function toAccountRecord(account: StoredAccount): AccountRecord {
  return {
    id: account.id,
    username: account.username,
    name: account.name,
    email: account.email ?? null,
    password_hash: account.passwordHash ?? null,
    origin: account.origin,
    created_at: account.createdAtSeconds,
    identity_issuer: account.identity?.issuer ?? null,
    identity_subject: account.identity?.subject ?? null,
    disabled_at: account.disabledAtSeconds ?? null,
    claims: claimsOf(account),
    second_factor: account.secondFactor ?? null,
  }
}

/** Returns the JSON for {@link AccountRecord.claims}. Null: the account has none of these values. */
export function claimsOf({
  identity,
  groups,
  roles,
  emailVerified,
}: Pick<StoredAccount, 'identity' | 'groups' | 'roles' | 'emailVerified'>): string | null {
  const claims = JSON.stringify({ provider: identity?.provider, groups, roles, emailVerified })
  return claims === '{}' ? null : claims
}

const ORIGINS: readonly unknown[] = ['operator', 'development', 'provider']

/** Restores an account from the values of a store. Numbers may be text. An unknown origin becomes `operator`. */
export function fromAccountRecord(
  record: Readonly<Partial<Record<keyof AccountRecord, unknown>>>,
): StoredAccount {
  const claims = parseClaims(record.claims)
  const { identity_issuer: issuer, identity_subject: subject, disabled_at: disabledAt } = record
  const secondFactor = text(record.second_factor)
  return {
    id: String(record.id),
    username: String(record.username),
    name: text(record.name) ?? '',
    email: text(record.email),
    passwordHash: text(record.password_hash),
    origin: ORIGINS.includes(record.origin) ? (record.origin as StoredAccount['origin']) : 'operator',
    createdAtSeconds: Number(record.created_at),
    ...(typeof issuer === 'string' && typeof subject === 'string'
      ? { identity: { issuer, subject, provider: text(claims['provider']) ?? '' } }
      : {}),
    ...(claims['emailVerified'] === true ? { emailVerified: true } : {}),
    ...(Array.isArray(claims['groups']) ? { groups: claims['groups'].map(String) } : {}),
    ...(Array.isArray(claims['roles']) ? { roles: claims['roles'].map(String) } : {}),
    ...(disabledAt === null || disabledAt === undefined ? {} : { disabledAtSeconds: Number(disabledAt) }),
    ...(secondFactor === undefined ? {} : { secondFactor }),
  }
}

function parseClaims(json: unknown): Readonly<Record<string, unknown>> {
  if (typeof json !== 'string') return {}
  try {
    const value: unknown = JSON.parse(json)
    return isRecord(value) ? value : {}
  } catch {
    return {} // damaged claims have no effect
  }
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
