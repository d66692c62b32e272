import { visibleText } from '../../platform/diagnostics/visible-text.ts'

const MAX_CHARACTERS = 100

/**
 * Returns a list of a token, such as its audience, in a form that is safe for logs and terminals. The issuer of the
 * token chooses the list. This function therefore limits the size, and escapes control and bidirectional characters.
 */
export function abbreviateList(list: readonly string[], maxMembers = 5): readonly string[] {
  const members = list
    .slice(0, maxMembers)
    .map((member) =>
      visibleText(
        member.length > MAX_CHARACTERS
          ? `${member.slice(0, MAX_CHARACTERS)}... (${member.length} characters)`
          : member,
      ),
    )
  const more = list.length - members.length
  return more === 0 ? members : [...members, `(${more} more)`]
}
