/** 1 for each character that is valid in a token. RFC 9110 section 5.6.2. */
export const TOKEN_CHARACTERS: Uint8Array = new Uint8Array(256)
for (const character of "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
  TOKEN_CHARACTERS[character.charCodeAt(0)] = 1

/** Returns whether a Latin-1 character is valid in a field value. RFC 9110 section 5.5. */
export function isValueCharacter(code: number): boolean {
  return (code >= 0x20 && code !== 0x7f) || code === 0x09
}
