import { posix } from 'node:path'
import t from 'tap'
import { listRepositoryFiles, readRepositoryFile, withoutFencedCode } from '../fixtures/repository-texts.ts'

// After a renaming, pages and comments can still contain the old name of a file or function. The compiler does not find
// these names.
const FILES = new Set(listRepositoryFiles())
const FILE_NAMES = new Set([...FILES].map((path) => posix.basename(path)))
const SOURCES = [...FILES].filter((path) => /\.[jt]s$/.test(path))
/** Configuration files, whose comments contain names of pages. */
const CONFIGURATION = [...FILES].filter((path) =>
  /^(?:config|helm)\/.*\.(?:yaml|txt|tpl)$|^compose\.yaml$/.test(path),
)
const PAGES = [...FILES].filter((path) => /^(?:README|CONTRIBUTING|SECURITY|docs\/.*)\.md$/.test(path))

/** Lines of block comments, line comments, and comments after code. */
const COMMENT = /^\s*(?:\/\/|\/\*|\*(?:[\s/]|$)).*$|(?<=\s)\/\/ .*$/gm
const FOLDERS = new Set([...FILES].flatMap((path) => /^([\w-]+)\//.exec(path)?.[1] ?? []))
/** A path in a folder of the repository, also without backticks. */
const ROOTED = new RegExp(
  `(?<![\\w./-])((?:${[...FOLDERS].join('|')})/[\\w./-]+\\.(?:ts|js|yaml|md|json))\\b`,
  'g',
)
/** A file name or a relative path in backticks. */
const QUOTED = /`([\w.-]+(?:\/[\w.-]+)*\.(?:ts|js|yaml|md|json))`/g
/** A function or method in backticks. The test ignores the name before a dot. */
const FUNCTION = /`(?:[\w$]+\.)*([a-z][\w$]*)\(\)`/g

/** A file that readers of the README create. */
const CREATED_BY_READERS = new Set(['policies/lecture-notes.policy.yaml'])

const comments = new Map(
  SOURCES.map((path) => [
    path,
    [...readRepositoryFile(path).matchAll(COMMENT)].map(([line]) => line).join('\n'),
  ]),
)
const texts = new Map([
  ...PAGES.map((path) => [path, withoutFencedCode(readRepositoryFile(path))] as const),
  ...CONFIGURATION.map((path) => [path, readRepositoryFile(path)] as const),
  ...comments,
])
const namesInCode = new Set(
  SOURCES.flatMap(
    (path) =>
      readRepositoryFile(path)
        .replace(COMMENT, '')
        .match(/[A-Za-z_$][\w$]*/g) ?? [],
  ),
)

/**
 * Returns whether a path exists, relative to the root or to the folder of the text. A bare file name can be in any
 * folder.
 */
function exists(name: string, text: string): boolean {
  if (FILES.has(name) || FILES.has(posix.join(posix.dirname(text), name)) || CREATED_BY_READERS.has(name))
    return true
  return !name.includes('/') && (!name.endsWith('.ts') || FILE_NAMES.has(name))
}

t.test('every repository file that a page or a comment names exists', async (t) => {
  const stale = [...texts].flatMap(([path, text]) =>
    [...text.matchAll(ROOTED), ...text.matchAll(QUOTED)]
      .map(([, name = '']) => name)
      .filter((name) => !exists(name, path))
      .map((name) => `${path}: ${name}`),
  )
  t.same(stale, [])
})

t.test('every function that a page or a comment names occurs in the code', async (t) => {
  const stale = [...texts].flatMap(([path, text]) =>
    [...text.matchAll(FUNCTION)]
      .map(([, name = '']) => name)
      .filter((name) => !namesInCode.has(name))
      .map((name) => `${path}: ${name}()`),
  )
  t.same(stale, [])
})
