import { setFlagsFromString } from 'node:v8'

/**
 * Has every object begin in the young generation, for the whole life of the process. For a process's entry, before
 * anything else. V8 else notes which places in the code made objects that stayed, and lets these places make old ones
 * from then on: what is made for one request, wherever requests once had to wait. Old objects that are garbage keep the young
 * ones that they point to, so that hardly anything of a request goes before the whole heap is collected
 * (docs/decisions/0013-objects-begin-young.md).
 */
export function disablePretenuring(): void {
  setFlagsFromString('--no-allocation-site-pretenuring')
}
