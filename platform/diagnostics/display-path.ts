import { relative, sep } from 'node:path'

/** Returns a path for display: relative to the working folder when the file is in this folder, otherwise absolute. */
export function displayPath(file: string, workingFolder: string = process.cwd()): string {
  const short = relative(workingFolder, file)
  if (short === '' || short === '..' || short.startsWith(`..${sep}`)) return file
  return short.split(sep).join('/')
}
