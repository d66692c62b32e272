import { relative, sep } from 'node:path'

/** Shortens a file's path for people: relative to the working folder when it lies below it, absolute otherwise. */
export function displayPath(file: string, workingFolder: string = process.cwd()): string {
  const short = relative(workingFolder, file)
  if (short === '' || short === '..' || short.startsWith(`..${sep}`)) return file
  return short.split(sep).join('/')
}
