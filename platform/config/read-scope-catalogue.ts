import type { Static } from 'typebox'
import { impliedBy, type ScopeCatalogue } from '../../oauth/scope.ts'
import { ConfigError } from '../diagnostics/boot-error.ts'
import { type Diagnostic, diagnostic, hasErrors } from '../diagnostics/diagnostic.ts'
import { displayPath } from '../diagnostics/display-path.ts'
import { compileValidator } from '../diagnostics/schema/compile-validator.ts'
import { Type } from '../diagnostics/schema/schema-builder.ts'
import { suggest } from '../diagnostics/schema/suggest.ts'
import type { TextSource } from '../diagnostics/yaml/text-source.ts'
import { readYamlFile, type YamlDocument } from '../diagnostics/yaml/yaml-document.ts'

export const ScopeCatalogueFile = Type.Object(
  {
    scopes: Type.Array(
      Type.Object({
        name: Type.String({
          description: 'the name of the scope',
          maxLength: 256,
          pattern: '^[\\x21\\x23-\\x5b\\x5d-\\x7e]+$', // RFC 6749 section 3.3
          'x-is': 'a scope name: printable ASCII without spaces, quotes and backslashes',
        }),
        description: Type.String({
          description: 'the permission in plain words',
          minLength: 1,
          maxLength: 256,
        }),
        group: Type.String({
          description: 'heading of the scope on the consent page',
          minLength: 1,
          maxLength: 64,
        }),
        sensitivity: Type.Enum(['identity', 'read', 'write'], {
          description: 'kind of access: identity, read or write',
        }),
        implies: Type.Optional(
          Type.Array(Type.String({ description: 'a scope of this file', minLength: 1, maxLength: 256 }), {
            description: 'scopes that this scope includes',
            minItems: 1,
            uniqueItems: true,
          }),
        ),
      }),
      { description: 'all scopes, in the order of the consent page', minItems: 1 },
    ),
  },
  { description: 'config/scopes.yaml' },
)

const checkScopeCatalogue = compileValidator(ScopeCatalogueFile, { letter: 'C' })

/**
 * Reads `config/scopes.yaml`.
 * @returns every scope by name, in the order of the file.
 * @throws {ConfigError} ERR_CONFIG_INVALID. C201: a scope is listed twice. C202: an implied scope is missing. C203:
 * circular scope implication.
 */
export function readScopeCatalogue(options: {
  readonly file: string
  /** Content of the file, if the caller has read the file already. Default: the function reads the file. */
  readonly source?: TextSource | undefined
}): ScopeCatalogue {
  const { file, source } = options
  return toScopeCatalogue(readYamlFile(file, { shownAs: displayPath(file), letter: 'C' }, source))
}

/** Checks a parsed scope catalogue. Returns and throws as `readScopeCatalogue()`. */
export function toScopeCatalogue(document: YamlDocument): ScopeCatalogue {
  if (document.value === undefined) throw new ConfigError(document.diagnostics)
  const diagnostics = [...document.diagnostics, ...checkScopeCatalogue(document.value, document.locationOf)]
  if (hasErrors(diagnostics)) throw new ConfigError(diagnostics)
  const { scopes } = document.value as Static<typeof ScopeCatalogueFile>
  const twice = findTwice(scopes, document)
  if (twice.length > 0) throw new ConfigError(twice)
  const catalogue = new Map(scopes.map((scope) => [scope.name, Object.freeze({ ...scope })]))
  const pointless = findPointlessImplications(catalogue, document)
  if (pointless.length > 0) throw new ConfigError(pointless)
  return catalogue
}

/** Reports unknown and circular implications. In a circle all scopes would be equivalent, which indicates a mistake. */
function findPointlessImplications(catalogue: ScopeCatalogue, document: YamlDocument): readonly Diagnostic[] {
  return [...catalogue.values()].flatMap(({ name, implies = [] }, index) =>
    implies.flatMap((implied, position) => {
      const location = document.locationOf(['scopes', index, 'implies', position])
      if (!catalogue.has(implied)) {
        const near = suggest(implied, catalogue.keys())
        return [
          diagnostic('C202', `"${name}" implies "${implied}", which this file does not define`, location, {
            hint:
              near === undefined ? 'define the scope, or remove it from implies' : `did you mean "${near}"?`,
          }),
        ]
      }
      if (implied !== name && !impliedBy(implied, catalogue).has(name)) return []
      const message =
        implied === name
          ? `"${name}" implies itself`
          : `"${name}" implies "${implied}", which implies "${name}"`
      return [diagnostic('C203', message, location, { hint: 'remove implies from the narrower scope' })]
    }),
  )
}

function findTwice(
  scopes: readonly { readonly name: string }[],
  document: YamlDocument,
): readonly Diagnostic[] {
  const first = new Map<string, number>()
  return scopes.flatMap(({ name }, index) => {
    const earlier = first.get(name)
    if (earlier === undefined) {
      first.set(name, index)
      return []
    }
    const related = [
      { message: 'the first definition', location: document.locationOf(['scopes', earlier, 'name']) },
    ]
    return [
      diagnostic(
        'C201',
        `the scope "${name}" is listed twice`,
        document.locationOf(['scopes', index, 'name']),
        {
          hint: 'keep one',
          related,
        },
      ),
    ]
  })
}
