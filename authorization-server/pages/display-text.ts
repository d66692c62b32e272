const MAX_CHARACTERS = 100
// Control characters, format characters (bidi overrides, zero-width, tags), private use, unpaired surrogates, and
// invisible fillers. White space is replaced before.
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}]|\p{Default_Ignorable_Code_Point}/gu
// More than two marks on one letter can overlap other lines.
const STACKED_MARKS = /(\p{M}{2})\p{M}+/gu

/**
 * Makes untrusted text safe to show in one line.
 * Removes invisible characters and changes of the reading direction. Limits the text to 100 characters.
 * @returns undefined when no visible text is left.
 */
export function displayText(text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  const visible = text
    .slice(0, 8 * MAX_CHARACTERS)
    .replace(/\s+/g, ' ')
    .replace(INVISIBLE, '')
    .replace(STACKED_MARKS, '$1')
    .trim()
  const characters = [...visible]
  if (characters.length === 0) return undefined
  return characters.length <= MAX_CHARACTERS
    ? visible
    : `${characters.slice(0, MAX_CHARACTERS - 1).join('')}…`
}
