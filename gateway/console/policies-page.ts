import type { Diagnostic } from '../../platform/diagnostics/diagnostic.ts'
import { formatDiagnostics } from '../../platform/diagnostics/format-diagnostics.ts'
import { type ConsolePage, live } from '../../platform/pages/console-page.ts'
import { docLink } from '../../platform/pages/docs-page.ts'
import { formatTime } from '../../platform/pages/format-time.ts'
import { type Html, html } from '../../platform/pages/html.ts'
import { definitions, type PageState, stateText } from '../../platform/pages/state-text.ts'
import { table } from '../../platform/pages/table.ts'
import { describeLocation } from '../snapshot/reload/describe-location.ts'
import { RELOAD_FAILURES } from '../snapshot/reload/reload-failure.ts'
import type { ConsoleState } from './console-source.ts'

/** Maximum number of errors with an excerpt. */
const SHOWN_ERRORS = 20

type PoliciesData = {
  readonly hash: string
  readonly routes: number
  readonly reload: 'watch' | 'manual'
  /** Why the policies on the disk are not active. null: they are active. */
  readonly failure: {
    readonly sinceMs: number
    readonly errors: Errors
    /** Why the gateway could not check the policies. null: the policies are invalid. */
    readonly unchecked: { readonly cause: string; readonly remedy: string } | null
  } | null
  readonly sources: readonly {
    readonly name: string
    readonly owner: string | null
    readonly state: 'valid' | 'kept' | 'unavailable'
    readonly version: string | null
    readonly routes: number
    readonly pathPrefixes: readonly string[]
    readonly errors: Errors
  }[]
  readonly files: readonly { readonly file: string; readonly owner: string | null; readonly routes: number }[]
}

type Errors = {
  readonly count: number
  readonly first: { readonly code: string; readonly message: string; readonly place: string } | null
  /** The first errors with excerpts of the files. */
  readonly text: string
}

/** The active policies, the policy sources and the errors of the policies on the disk. */
export function policiesPage(state: ConsoleState): ConsolePage<PoliciesData> {
  return {
    path: '/console/policies',
    title: 'Policies',
    async data() {
      const { active, states, failure } = state.policies
      const described = await state.describe()
      const files = Map.groupBy(described?.routes ?? [], ({ source }) => source.file)
      return {
        hash: active.hash,
        routes: described?.routes.length ?? 0,
        reload: state.config.policyReload,
        failure:
          failure === undefined
            ? null
            : {
                sinceMs: failure.sinceMs,
                errors: toErrors(failure.problems),
                unchecked: failure.unchecked === undefined ? null : RELOAD_FAILURES[failure.unchecked],
              },
        sources: states.map(({ errors, owner, version, ...source }) => ({
          ...source,
          owner: owner ?? null,
          version: version ?? null,
          errors: toErrors(errors),
        })),
        files: [...files].map(([file, routes]) => ({
          file,
          owner: routes[0]?.owner ?? null,
          routes: routes.length,
        })),
      }
    },
    render: (data) =>
      live('policies', html`${failureCard(data)}${facts(data)}${sources(data)}${fileTable(data)}`),
  }
}

function toErrors(diagnostics: readonly Diagnostic[]): Errors {
  const errors = diagnostics.filter(({ severity }) => severity === 'error')
  const [first] = errors
  return {
    count: errors.length,
    first:
      first === undefined
        ? null
        : { code: first.code, message: first.message, place: describeLocation(first.location) },
    text: formatDiagnostics(errors.slice(0, SHOWN_ERRORS)),
  }
}

function failureCard({ failure }: PoliciesData): Html | undefined {
  if (failure === null) return undefined
  return html`<div class="notice problem"><h2>The policies on the disk are not active</h2>
<p>since ${formatTime(failure.sinceMs)}. ${failure.unchecked?.cause ?? 'The earlier policies stay active.'}</p>
<p><strong>What to do:</strong> ${failure.unchecked?.remedy ?? 'Correct the file, or restore its last version.'} ${docLink('runbooks/ScopegatePolicyReloadFailed.md')}</p></div>
${excerpt(failure.errors)}`
}

function excerpt({ count, first, text }: Errors): Html | undefined {
  if (first === null) return undefined
  return html`<pre>${text}</pre>
<p>${count > SHOWN_ERRORS && `${count} errors; the first ${SHOWN_ERRORS} are shown. `}About this error: ${docLink(`errors/${first.code}.md`)}</p>`
}

function facts({ hash, routes, reload }: PoliciesData): Html {
  return definitions([
    ['Version (hash)', html`<code>${hash}</code>`],
    ['Routes', html`<a href="/console/routes">${routes}</a>`],
    [
      'Reload',
      reload === 'watch'
        ? 'automatic, after a change of the files'
        : 'on request: POST /reload, or the signal SIGHUP',
    ],
  ])
}

const STATES: Readonly<Record<PoliciesData['sources'][number]['state'], readonly [PageState, string]>> = {
  valid: ['ok', 'valid'],
  kept: ['notice', 'invalid: the last valid version stays active'],
  unavailable: ['wrong', 'invalid: requests for its paths get 503'],
}

function sources({ sources }: PoliciesData): Html | undefined {
  if (sources.length === 0) return undefined
  return html`<section aria-labelledby="sources"><h2 id="sources">Policy sources</h2>
${sources.map(
  ({ name, owner, state, version, routes, pathPrefixes, errors }) =>
    html`<h3>${name}</h3>${definitions([
      ['State', stateText(...STATES[state])],
      ['Owner', owner ?? '-'],
      ['Active version', version === null ? 'none' : html`<code>${version.slice(0, 12)}</code>`],
      ['Routes', String(routes)],
      ['Paths', pathPrefixes.join(', ')],
    ])}${excerpt(errors)}`,
)}</section>`
}

const FILE_COLUMNS = [{ title: 'File' }, { title: 'Team' }, { title: 'Routes', isCount: true }] as const
/** Maximum number of files in the table. */
const SHOWN_FILES = 200

function fileTable({ files }: PoliciesData): Html {
  const rows = files
    .slice(0, SHOWN_FILES)
    .map(({ file, owner, routes }) => [html`<code>${file}</code>`, owner ?? '-', routes])
  return html`<section aria-labelledby="files"><h2 id="files">Files with routes</h2>
${files.length > SHOWN_FILES && html`<p>${files.length} files; the first ${SHOWN_FILES} are shown.</p>`}${table(FILE_COLUMNS, rows)}</section>`
}
