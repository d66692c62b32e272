import { posix } from 'node:path'
import t from 'tap'
import { listRepositoryFiles, readRepositoryFile, withoutFencedCode } from '../fixtures/repository-texts.ts'

// These tests find old names of files and functions in pages and comments. The compiler does not check pages and
// comments.
const FILES = new Set(listRepositoryFiles())
const FILE_NAMES = new Set([...FILES].map((path) => posix.basename(path)))
const SOURCES = [...FILES].filter((path) => /\.[jt]s$/.test(path))
/** The comments of configuration files contain names of pages. */
const CONFIGURATION = [...FILES].filter((path) =>
  /^(?:config|helm)\/.*\.(?:yaml|txt|tpl)$|^compose\.yaml$/.test(path),
)
const PAGES = [...FILES].filter((path) => /^(?:README|CONTRIBUTING|SECURITY|docs\/.*)\.md$/.test(path))

/** Matches lines of block comments, line comments, and comments after code. */
const COMMENT = /^\s*(?:\/\/|\/\*|\*(?:[\s/]|$)).*$|(?<=\s)\/\/ .*$/gm
const FOLDERS = new Set([...FILES].flatMap((path) => /^([\w-]+)\//.exec(path)?.[1] ?? []))
/** Matches a path that begins with a folder of the repository, with or without backticks. */
const ROOTED = new RegExp(
  `(?<![\\w./-])((?:${[...FOLDERS].join('|')})/[\\w./-]+\\.(?:ts|js|yaml|md|json))\\b`,
  'g',
)
/** Matches a file name or a relative path in backticks. */
const QUOTED = /`([\w.-]+(?:\/[\w.-]+)*\.(?:ts|js|yaml|md|json))`/g
/** Matches a function or method in backticks. Captures only the name after the last dot. */
const FUNCTION = /`(?:[\w$]+\.)*([a-z][\w$]*)\(\)`/g

/** Files that do not exist in the repository, because readers of the README and of docs/install.md create them. */
const CREATED_BY_READERS = new Set(['policies/books.policy.yaml', 'policies/lecture-notes.policy.yaml'])

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
 * Returns whether a file exists. `name` is relative to the root of the repository, to the folder of `text`, or to the
 * folder of the configuration. A name without a folder can be in any folder.
 */
function exists(name: string, text: string): boolean {
  const folders = ['.', posix.dirname(text), 'config']
  if (folders.some((folder) => FILES.has(posix.join(folder, name))) || CREATED_BY_READERS.has(name))
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
