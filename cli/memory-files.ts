import { relative, sep } from 'node:path'
import { MAX_TEXT_BYTES, type TextSource } from '../platform/diagnostics/yaml/text-source.ts'
import type { PolicyFolder } from '../policy-engine/load/policy-sources.ts'

/** Contents of configuration files and policies in memory, in place of the file system. */
export class MemoryFiles {
  readonly #texts: ReadonlyMap<string, string>

  /** @param texts contents of the files, by absolute path. */
  constructor(texts: ReadonlyMap<string, string>) {
    this.#texts = texts
  }

  has(file: string): boolean {
    return this.#texts.has(file)
  }

  read(file: string): TextSource {
    const text = this.#texts.get(file)
    if (text === undefined) return { fault: 'unreadable', code: 'ENOENT' }
    const bytes = Buffer.byteLength(text)
    return bytes > MAX_TEXT_BYTES ? { fault: 'too_large', bytes, limit: MAX_TEXT_BYTES } : { text }
  }

  /** Lists a policy folder and its direct subfolders. */
  list(folder: string): PolicyFolder {
    const inside = [...this.#texts.keys()]
      .map((file) => ({ file, name: relative(folder, file).split(sep).join('/') }))
      .filter(({ name }) => /^(?!\.)[^/]+(?:\/(?!\.)[^/]+)?$/.test(name))
    return {
      folder: { names: inside.map(({ name }) => name).toSorted() },
      files: inside.map(({ file, name }) => ({ name, source: this.read(file) })),
    }
  }
}
