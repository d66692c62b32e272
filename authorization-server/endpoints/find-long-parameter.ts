/** Longest name or value of a parameter. The longest usual ones are `state` of web frameworks, about 1,200 characters. */
const LONGEST_PARAMETER = 2_048
/** Names and values of all parameters together: all scopes of the catalogue are about 700 characters. */
const LONGEST_REQUEST = 8_192

/**
 * Checks the size of an authorization request, which the server stores before anybody authenticates.
 * @returns the reason to reject the request, or undefined.
 */
export function findLongParameter(parameters: URLSearchParams): string | undefined {
  let total = 0
  for (const [name, value] of parameters) {
    if (name.length > LONGEST_PARAMETER || value.length > LONGEST_PARAMETER)
      return `A parameter is longer than ${LONGEST_PARAMETER} characters.`
    total += name.length + value.length
  }
  return total > LONGEST_REQUEST
    ? `The parameters are longer than ${LONGEST_REQUEST} characters together.`
    : undefined
}
