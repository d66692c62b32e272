/** Web frameworks send `state` with up to about 1,200 characters. */
const MAX_STATE_LENGTH = 2_048
/** Maximum length of any other name or value: `scope` of a catalogue with 200 scopes. */
const MAX_PARAMETER_LENGTH = 4_096
/** Maximum length of all names and values together. */
const MAX_TOTAL_LENGTH = 8_192

/**
 * Checks the size of an authorization request. The server stores the request before the person authenticates.
 * @returns the reason to reject the request, or undefined.
 */
export function findLongParameter(parameters: URLSearchParams): string | undefined {
  let total = 0
  for (const [name, value] of parameters) {
    const longest = name === 'state' ? MAX_STATE_LENGTH : MAX_PARAMETER_LENGTH
    if (name.length > MAX_PARAMETER_LENGTH || value.length > longest)
      return name === 'state'
        ? `state is longer than ${longest} characters.`
        : `A parameter is longer than ${longest} characters.`
    total += name.length + value.length
  }
  return total > MAX_TOTAL_LENGTH
    ? `The parameters are longer than ${MAX_TOTAL_LENGTH} characters together.`
    : undefined
}
