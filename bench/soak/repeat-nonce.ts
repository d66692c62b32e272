/** So many bytes that say nothing but one nonce, over and over: a byte of another one shows. */
export function repeatNonce(nonce: string, bytes: number): string {
  return nonce.repeat(Math.ceil(bytes / nonce.length)).slice(0, bytes)
}
