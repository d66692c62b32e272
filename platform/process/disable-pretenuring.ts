import { setFlagsFromString } from 'node:v8'

/**
 * Makes V8 allocate every object in the young generation, for the life of the process. Call this function first in the
 * entry point. By default, V8 records allocation sites whose objects survived a collection. V8 allocates later objects
 * of these sites in the old generation. When requests have to wait, their objects survive. V8 then also allocates the
 * objects of later requests in the old generation. Dead old objects keep young objects alive, so that almost no request
 * memory is freed before a full garbage collection (docs/decisions/0013-disable-allocation-site-pretenuring.md).
 */
export function disablePretenuring(): void {
  setFlagsFromString('--no-allocation-site-pretenuring')
}
