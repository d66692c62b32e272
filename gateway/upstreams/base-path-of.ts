/** The path that every request to an address begins with, without a slash at its end. */
export function basePathOf(url: string): string {
  return new URL(url).pathname.replace(/\/$/, '')
}
