/** Web frameworks send `state` with up to about 1,200 characters. */
const LONGEST_STATE = 2_048
/** Maximum length of any other name or value: `scope` of a catalogue with 200 scopes. */
const LONGEST_PARAMETER = 4_096
/** Maximum length of all names and values together. */
const LONGEST_REQUEST = 8_192

/**
 * Checks the size of an authorization request. The server stores the request before the person authenticates.
 * @returns the reason to reject the request, or undefined.
 */
export function findLongParameter(parameters: URLSearchParams): string | undefined {
  let total = 0
  for (const [name, value] of parameters) {
    const longest = name === 'state' ? LONGEST_STATE : LONGEST_PARAMETER
    if (name.length > LONGEST_PARAMETER || value.length > longest)
      return name === 'state'
        ? `state is longer than ${longest} characters.`
        : `A parameter is longer than ${longest} characters.`
    total += name.length + value.length
  }
  return total > LONGEST_REQUEST
    ? `The parameters are longer than ${LONGEST_REQUEST} characters together.`
    : undefined
}
