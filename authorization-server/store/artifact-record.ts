import { hashId } from './hash-id.ts'
import type { StoredArtifact } from './store.ts'
import { StoreError } from './store-error.ts'

/** An artifact in the shape both engines store. */
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
 * Prepares an artifact for storage. What would open a door is left out of the payload: `jti` is the token, code or
 * cookie itself (null marks where it stood), and an interaction carries the id of the browser's session, which
 * nothing reads again.
 */
export function toArtifactRecord(options: {
  readonly model: string
  readonly id: string
  readonly payload: object
}): ArtifactRecord {
  const { jti, consumed, ...rest } = options.payload as StoredArtifact
  const kept: StoredArtifact = jti === undefined ? rest : { ...rest, jti: null }
  if (options.model === 'Interaction' && isObject(kept['session'])) {
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
    accountId: text(kept['accountId']),
    consumedAtSeconds: typeof consumed === 'number' ? consumed : undefined,
  }
}

/**
 * Puts a stored artifact together again.
 * @param id the raw id when the caller knew it; without it `jti` stays away.
 * @throws {StoreError} ERR_STORE_DAMAGED when the payload is not the JSON object that was written.
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
    if (isObject(value)) return value
  } catch (cause) {
    throw new StoreError('ERR_STORE_DAMAGED', 'A stored artifact is not valid JSON.', { cause })
  }
  throw new StoreError('ERR_STORE_DAMAGED', 'A stored artifact is not a JSON object.')
}

function isObject(value: unknown): value is StoredArtifact {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function hashOrUndefined(value: string | undefined): string | undefined {
  return value === undefined ? undefined : hashId(value)
}
