import type { ScopeCatalogue } from '../../oauth/scope-catalogue.ts'
import type { Form } from '../pages/read-form.ts'
import { groupScopes } from './scope-groups.ts'

/** The name of a scope's tick box in the consent form. */
export function scopeField(scope: string): string {
  return `scope.${scope}`
}

/**
 * Reads which of the scopes that were asked for the person left ticked, in the order of the request. A scope that
 * was not on the page cannot be granted, whatever the form says; one that is not on the page because it is no choice
 * (`openid`) goes along.
 * @returns undefined when there were choices and every one was unticked.
 */
export function grantedScopes(
  asked: readonly string[],
  form: Form,
  catalogue: ScopeCatalogue,
): readonly string[] | undefined {
  const choices = new Set(
    groupScopes(asked, catalogue).flatMap((group) => group.scopes.map(({ name }) => name)),
  )
  const granted = asked.filter((scope) => !choices.has(scope) || form.get(scopeField(scope)) === 'on')
  const nothingChosen = choices.size > 0 && !granted.some((scope) => choices.has(scope))
  return nothingChosen ? undefined : granted
}
