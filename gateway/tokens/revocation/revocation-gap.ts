/**
 * A revocation gap. Revocations of the tokens that were issued up to `issuedSeconds` may be missing since
 * `completeUntilMs`.
 */
export type RevocationGap = { readonly issuedSeconds: number; readonly completeUntilMs: number }

/** Maximum clock skew between issuer and gateway. Seconds. */
const SKEW_SECONDS = 60

/** Returns the gap after another revocation was missed. An open gap keeps its start. */
export function extendGap(
  open: RevocationGap | undefined,
  now: { readonly nowSeconds: number; readonly completeUntilMs: number },
): RevocationGap {
  return {
    issuedSeconds: now.nowSeconds + SKEW_SECONDS,
    completeUntilMs: open?.completeUntilMs ?? now.completeUntilMs,
  }
}

/** Returns whether revocations of the tokens that were issued at `issuedAtSeconds` may be missing. */
export function isInGap(
  gap: RevocationGap | undefined,
  issuedAtSeconds: number | undefined,
): gap is RevocationGap {
  return gap !== undefined && (issuedAtSeconds === undefined || issuedAtSeconds <= gap.issuedSeconds)
}
