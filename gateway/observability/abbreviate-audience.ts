import { visibleText } from '../../platform/diagnostics/visible-text.ts'

const MAX_MEMBERS = 5
const MAX_CHARACTERS = 100

/**
 * Returns the audience of a token in a form that is safe for logs and terminals. The issuer of the token chooses the
 * audience. This function therefore limits the size, and escapes control and bidirectional characters.
 */
export function abbreviateAudience(audience: readonly string[]): readonly string[] {
  const members = audience
    .slice(0, MAX_MEMBERS)
    .map((member) =>
      visibleText(
        member.length > MAX_CHARACTERS
          ? `${member.slice(0, MAX_CHARACTERS)}... (${member.length} characters)`
          : member,
      ),
    )
  const more = audience.length - members.length
  return more === 0 ? members : [...members, `(${more} more)`]
}
