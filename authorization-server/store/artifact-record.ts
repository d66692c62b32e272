import { hash } from 'node:crypto'
import { isRecord } from '../../platform/diagnostics/record.ts'
import { type ArtifactWrite, type StoredArtifact, StoreError } from './store.ts'

export type ArtifactRecord = {
  readonly idHash: string
  /** JSON without the id, see {@link toArtifactRecord}. */
  readonly payload: string
  readonly grantHash: string | undefined
  readonly uidHash: string | undefined
  readonly userCodeHash: string | undefined
  readonly accountId: string | undefined
  readonly consumedAtSeconds: number | undefined
}

/**
 * Converts an artifact for storage. Removes values that give access:
 * - `jti` is the token, code or cookie itself. In the record, `jti: null` shows that the payload had a `jti`.
 * - The payload of an interaction contains the id of the browser session. The server never reads this id again.
 */
export function toArtifactRecord(options: {
  readonly model: string
  readonly id: string
  readonly payload: object
}): ArtifactRecord {
  const { jti, consumed, ...rest } = options.payload as StoredArtifact
  const kept: StoredArtifact = jti === undefined ? rest : { ...rest, jti: null }
  if (options.model === 'Interaction' && isRecord(kept['session'])) {
    const { cookie: _cookie, ...session } = kept['session']
    kept['session'] = session
  }
  const grantId = options.model === 'Grant' ? options.id : text(kept['grantId'])
  return {
    idHash: hashId(options.id),
    payload: JSON.stringify(kept),
    grantHash: hashOrUndefined(grantId),
    uidHash: hashOrUndefined(text(kept['uid'])),
    userCodeHash: hashOrUndefined(text(kept['userCode'])),
    accountId: options.model === 'Interaction' ? signedInAccount(kept) : text(kept['accountId']),
    consumedAtSeconds: typeof consumed === 'number' ? consumed : undefined,
  }
}

/**
 * Returns the account of an interaction: the account that signed in during the interaction, or the account of the
 * session. If the server ends the sessions of this account, the server also ends the interaction.
 */
function signedInAccount({ result, session }: StoredArtifact): string | undefined {
  const login = isRecord(result) ? result['login'] : undefined
  if (isRecord(login)) return text(login['accountId'])
  return isRecord(session) ? text(session['accountId']) : undefined
}

/**
 * Returns the columns of an artifact in SQL: model, id, payload, grant_id, uid, user_code, account_id, consumed_at,
 * expires_at.
 * @param nowSeconds Unix time at which the lifetime starts. 0: the last column is the lifetime.
 */
export function toArtifactColumns(
  write: ArtifactWrite,
  nowSeconds: number,
): readonly (string | number | null)[] {
  const record = toArtifactRecord(write)
  return [
    write.model,
    record.idHash,
    record.payload,
    record.grantHash ?? null,
    record.uidHash ?? null,
    record.userCodeHash ?? null,
    record.accountId ?? null,
    record.consumedAtSeconds ?? null,
    write.expiresInSeconds === undefined ? null : nowSeconds + write.expiresInSeconds,
  ]
}

/**
 * Restores a stored artifact.
 * @param id the raw id. Undefined if the caller does not have the id: the result then has no `jti`.
 * @throws {StoreError} ERR_STORE_DAMAGED when the payload is not a JSON object.
 */
export function fromArtifactRecord(
  stored: { readonly payload: string; readonly consumedAtSeconds: number | undefined },
  id: string | undefined,
): StoredArtifact {
  const { jti, ...payload } = parsePayload(stored.payload)
  if (jti === null && id !== undefined) payload['jti'] = id
  if (stored.consumedAtSeconds !== undefined) payload['consumed'] = stored.consumedAtSeconds
  return payload
}

function parsePayload(payload: string): StoredArtifact {
  try {
    const value: unknown = JSON.parse(payload)
    if (isRecord(value)) return value
  } catch (cause) {
    throw new StoreError('ERR_STORE_DAMAGED', 'A stored artifact is not valid JSON.', { cause })
  }
  throw new StoreError('ERR_STORE_DAMAGED', 'A stored artifact is not a JSON object.')
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function hashOrUndefined(value: string | undefined): string | undefined {
  return value === undefined ? undefined : hashId(value)
}

/**
 * Hashes an id for the store and for gateways: base64url of its SHA-256. Gateways get the hash of a grant id in
 * introspection responses and revocations. Codes, tokens and session cookies have at least 128 random bits, so a plain
 * hash is safe against guessing.
 */
export function hashId(id: string): string {
  return hash('sha256', id, 'base64url')
}
